"""From the counts of every run to one Summary."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Protocol, TypeVar

import msgspec

from experiments.analysis import lookups, losses, sweeps, timeline
from experiments.analysis.counts import Counts
from experiments.analysis.histogram import Histogram, cumulative, middle_us
from experiments.analysis.static_rings import static_rings
from experiments.analysis.summary import LatencyPoint, Summary
from experiments.traces.parquet import Ingested
from experiments.traces.run import Part, RunInfo


class OfRun(Protocol):
    """Anything that says which run it belongs to."""

    @property
    def run(self) -> str: ...


Item = TypeVar("Item", bound=OfRun)


def summarise(found: Sequence[Part], ingested: Ingested, counts: Counts) -> Summary:
    """Put the counts together, run by run. Raises BadRun for a damaged file beside the traces of one."""
    summary = Summary(
        runs=[_described(part.info) for part in found],
        rows=ingested.rows,
        damage=asdict(ingested.damage),
        subscribers=[],
        deliveries=[],
        lookups=[],
        hops=[],
        events=[],
        timeline=[],
        latency=[],
    )
    for info in (part.info for part in found):
        flows = _of(info, counts.flows)
        sent = _of(info, counts.publications)
        cells = _of(info, counts.cells)
        seconds = _of(info, counts.seconds)
        by_subscriber = _histograms(info, counts.by_subscriber, "subscriber")
        by_topic = _histograms(info, counts.by_topic, "mode", "topic")
        steps = _histograms(info, counts.lookup_latency, "mode", "step")
        named = {key[0]: histogram for key, histogram in by_subscriber.items()}
        rows = losses.subscribers(info, flows, sent, named)
        summary.subscribers += rows
        summary.disseminations += losses.disseminations(info, rows)
        summary.deliveries += losses.deliveries(flows, by_topic)
        summary.lookups += lookups.table(info, cells, steps)
        summary.hops += lookups.hop_counts(info, cells)
        summary.events += timeline.events(info, seconds)
        summary.timeline += timeline.timeline(info, seconds)
        summary.latency += _distributions(info, by_topic, steps)
    infos = [part.info for part in found]
    summary.ring_sizes = sweeps.ring_sizes(infos, summary.lookups)
    summary.clients = sweeps.client_counts(infos, summary.deliveries, summary.disseminations)
    summary.static_rings = static_rings(found)
    return summary


def _described(info: RunInfo) -> dict[str, Any]:
    described: dict[str, Any] = msgspec.to_builtins(info)
    return described


def _of(info: RunInfo, rows: Iterable[Item]) -> list[Item]:
    return [row for row in rows if row.run == info.run]


def _histograms(info: RunInfo, rows: Iterable[Mapping[str, Any]], *keys: str) -> dict[tuple[str, ...], Histogram]:
    """The latency histograms of one run, by the values of `keys`."""
    found: dict[tuple[str, ...], dict[int, int]] = defaultdict(dict)
    for row in rows:
        if row["run"] == info.run:
            found[tuple(row[key] for key in keys)][row["bucket"]] = row["count"]
    return dict(found)


def _distributions(
    info: RunInfo, by_topic: Mapping[tuple[str, ...], Histogram], steps: Mapping[tuple[str, ...], Histogram]
) -> list[LatencyPoint]:
    """The latency CDFs of one run: deliveries by mode, and by mode and topic; lookups by mode."""
    groups: dict[tuple[str, str, str | None], Histogram] = {}
    for mode in sorted({mode for mode, _ in by_topic}):
        own = {topic: histogram for (each, topic), histogram in by_topic.items() if each == mode}
        groups["delivery", mode, None] = losses.merged(list(own.values()))
        groups.update({("delivery", mode, topic): own[topic] for topic in sorted(own)})
    for (mode, step), histogram in sorted(steps.items()):
        if step == "lookup":
            groups["lookup", mode, None] = histogram
    return [
        LatencyPoint(info.run, table, mode, topic, middle_us(number), round(share, 6))
        for (table, mode, topic), histogram in groups.items()
        for number, share in cumulative(histogram)
    ]
