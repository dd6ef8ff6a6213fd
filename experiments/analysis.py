"""The analysis of one run: spools to Parquet, Parquet to counts and histograms, those to a Summary and its files.

Java starts while the spools are read; nothing but counts comes back from it to this process.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from experiments import lookups, losses, tables, timeline
from experiments.histogram import Histogram, cumulative, middle_us
from experiments.ingest import PARQUET, Ingested, ingest
from experiments.queries import Counts, Progress, count, silent
from experiments.run import Part, RunInfo, parts
from experiments.spark import Starting
from experiments.summary import LatencyPoint, Summary


class OfRun(Protocol):
    """Anything that says which run it belongs to."""

    @property
    def run(self) -> str: ...


Item = TypeVar("Item", bound=OfRun)


def analyse(
    run: Path, master: str, out: Path, progress: Progress = silent, session: Starting | None = None
) -> Summary:
    """Analyse a run and write summary.json, CSV tables and figures into `out`.

    A session that the caller started is used and left running. Raises BadRun, NoJava or SparkFailed.
    """
    from experiments import figures  # matplotlib takes most of a second

    found = parts(run)
    out.mkdir(parents=True, exist_ok=True)
    own = None if session else Starting(master)
    started = time.monotonic()
    try:
        ingested = ingest(run, lambda done, total: progress("reading traces", done, total))
        read = time.monotonic()
        progress("starting Spark", 0, 1)
        spark = (session or own or Starting(master)).get()
        ready = time.monotonic()
        counts = count(spark, run / PARQUET, found, progress)
    finally:
        if own:
            own.stop()
    counted = time.monotonic()
    summary = summarise(found, ingested, counts)
    summary.files = tables.write(summary, out)
    progress("drawing figures", 0, 1)
    summary.files += figures.draw(summary, out)
    progress("drawing figures", 1, 1)
    summary.elapsed_s = {
        "ingest": round(read - started, 2),
        "wait_for_spark": round(ready - read, 2),
        "queries": round(counted - ready, 2),
        "figures": round(time.monotonic() - counted, 2),
        "total": round(time.monotonic() - started, 2),
    }
    tables.write_summary(summary, out)
    return summary


def summarise(found: Sequence[Part], ingested: Ingested, counts: Counts) -> Summary:
    """Put the counts together, run by run."""
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
        summary.subscribers += losses.subscribers(info, flows, sent, named)
        summary.deliveries += losses.deliveries(flows, by_topic)
        summary.lookups += lookups.table(info, cells, steps)
        summary.hops += lookups.hop_counts(info, cells)
        summary.events += timeline.events(info, seconds)
        summary.timeline += timeline.timeline(info, seconds)
        summary.latency += _distributions(info, by_topic, steps)
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
