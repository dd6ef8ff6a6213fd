"""From flows to the table of subscribers: what was published for each, what it got, lost and got twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.analysis.histogram import Histogram, latency
from experiments.analysis.summary import Deliveries, Dissemination, Latency, Subscriber
from experiments.traces.run import RunInfo, SubscriberInfo


@dataclass(frozen=True, slots=True)
class Flow:
    """What one subscriber got from one publisher on one topic in one mode: counts and microseconds.

    `resumed_us` is when the first sample came that was published after a zone's primary was killed, since the epoch.
    """

    run: str
    mode: str
    topic: str
    publisher: str
    subscriber: str
    first: int
    last: int
    delivered: int
    distinct: int
    total_us: int
    max_us: int
    after_kill: int
    resumed_us: int | None = None


@dataclass(frozen=True, slots=True)
class Publication:
    """What one publisher sent on one topic: sequences `first` to `last`."""

    run: str
    topic: str
    publisher: str
    first: int
    last: int


def subscribers(
    run: RunInfo, flows: Sequence[Flow], sent: Sequence[Publication], histograms: dict[str, Histogram]
) -> list[Subscriber]:
    """One row a subscriber of this run, those included that run.json names and that got nothing."""
    announced = run.subscribers or {}
    by_name: dict[str, list[Flow]] = {name: [] for name in announced}
    for flow in flows:
        by_name.setdefault(flow.subscriber, []).append(flow)
    last = _last_sequences(flows, sent)
    rows = []
    for name, own in by_name.items():
        asked = announced.get(name)
        topics = {flow.topic for flow in own} | set(asked.topics if asked else ())
        published = _published(own, sent, last, topics if asked and asked.from_start else set())
        distinct = sum(flow.distinct for flow in own)
        delivered = sum(flow.delivered for flow in own)
        rows.append(
            Subscriber(
                run=run.run,
                subscriber=name,
                topics=sorted(topics),
                published=published,
                delivered=delivered,
                distinct=distinct,
                lost=None if published is None else published - distinct,
                duplicated=delivered - distinct,
                latency_us=_latency(own, histograms[name]) if own else None,
                delivered_after_kill=None if run.kill_us is None else sum(flow.after_kill for flow in own),
                label=asked.label if asked else None,
                mode=own[0].mode if own else None,
                zone=asked.zone if asked else None,
                failover_ms=_failover_ms(run, own),
            )
        )
    return sorted(rows, key=lambda row: row.name)


def flow_rows(run: RunInfo, flows: Sequence[Flow], sent: Sequence[Publication]) -> list[dict[str, Any]]:
    """One row a flow, those included that run.json announces from the first sample on and that got nothing.

    `published` and `lost` are null when no publication row tells what was sent.
    """
    announced = run.subscribers or {}
    last = _last_sequences(flows, sent)
    first = {(each.topic, each.publisher): each.first for each in sent}
    rows = []
    for flow in flows:
        asked = announced.get(flow.subscriber)
        pair = flow.topic, flow.publisher
        start = min(flow.first, first[pair]) if asked and asked.from_start and pair in first else flow.first
        rows.append(_flow_row(flow, asked, last[pair] - start + 1 if pair in last else None))
    got = {(flow.topic, flow.publisher, flow.subscriber) for flow in flows}
    for name, asked in announced.items():
        for each in sent if asked.from_start else ():
            if each.topic in asked.topics and (each.topic, each.publisher, name) not in got:
                pair = each.topic, each.publisher
                none = Flow(run.run, run.dissemination or "", *pair, name, 0, 0, 0, 0, 0, 0, 0)
                rows.append(_flow_row(none, asked, last[pair] - each.first + 1))
    return rows


def _flow_row(flow: Flow, asked: SubscriberInfo | None, published: int | None) -> dict[str, Any]:
    return {
        "dissemination": flow.mode or None,
        "topic": flow.topic,
        "publisher": flow.publisher,
        "subscriber": flow.subscriber,
        "label": asked.label if asked else None,
        "zone": asked.zone if asked else None,
        "published": published,
        "delivered": flow.delivered,
        "distinct": flow.distinct,
        "lost": None if published is None else published - flow.distinct,
        "duplicated": flow.delivered - flow.distinct,
        "total_us": flow.total_us,
        "max_us": flow.max_us,
    }


def _failover_ms(run: RunInfo, flows: Sequence[Flow]) -> float | None:
    """How long after the kill of a primary the last of these flows went on."""
    resumed = [flow.resumed_us for flow in flows if flow.resumed_us is not None]
    return round((max(resumed) - run.primary_kill_us) / 1e3, 1) if resumed and run.primary_kill_us else None


def disseminations(run: RunInfo, rows: Sequence[Subscriber]) -> list[Dissemination]:
    """One row a mode: what its subscribers lost, and how long those waited that read through the killed primary."""
    found = []
    for mode in sorted({row.mode for row in rows if row.mode is not None}):
        own = [row for row in rows if row.mode == mode]
        sent = [row.published for row in own if row.published is not None]
        whole = len(sent) == len(own)
        touched = [
            row.failover_ms
            for row in own
            if row.failover_ms is not None and row.zone is not None and row.zone == run.killed_zone
        ]
        found.append(
            Dissemination(
                run=run.run,
                mode=mode,
                subscribers=len(own),
                published=sum(sent) if whole else None,
                distinct=sum(row.distinct for row in own),
                lost=sum(row.lost or 0 for row in own) if whole else None,
                duplicated=sum(row.duplicated for row in own),
                failover_ms=max(touched, default=None),
            )
        )
    return found


def _last_sequences(flows: Sequence[Flow], sent: Sequence[Publication]) -> dict[tuple[str, str], int]:
    """The last sequence of each (topic, publisher) with publication rows.

    A publisher that was killed has not reported its last interval, but somebody may have received it.
    """
    last = {(each.topic, each.publisher): each.last for each in sent}
    for flow in flows:
        pair = flow.topic, flow.publisher
        if pair in last:
            last[pair] = max(last[pair], flow.last)
    return last


def _published(
    flows: Sequence[Flow], sent: Sequence[Publication], last: dict[tuple[str, str], int], whole: set[str]
) -> int | None:
    """Samples sent on the topics in `whole` from their first on, on others from the first one received."""
    start = {(each.topic, each.publisher): each.first for each in sent if each.topic in whole}
    for flow in flows:
        pair = flow.topic, flow.publisher
        if pair not in last:
            return None
        start[pair] = min(start.get(pair, flow.first), flow.first)
    if not last:
        return None
    return sum(last[pair] - first + 1 for pair, first in start.items())


def deliveries(flows: Sequence[Flow], histograms: Mapping[tuple[str, ...], Histogram]) -> list[Deliveries]:
    """One row a mode, and one a mode and topic, of one run; `histograms` by (mode, topic)."""
    groups: dict[tuple[str, str | None], list[Flow]] = defaultdict(list)
    for flow in flows:
        groups[flow.mode, None].append(flow)
        groups[flow.mode, flow.topic].append(flow)
    rows = []
    for (mode, topic), own in sorted(groups.items(), key=lambda item: (item[0][0], item[0][1] or "")):
        histogram = merged([counts for key, counts in histograms.items() if key[0] == mode and topic in (None, key[1])])
        count = sum(flow.delivered for flow in own)
        rows.append(
            Deliveries(run=own[0].run, mode=mode, topic=topic, count=count, latency_us=_latency(own, histogram))
        )
    return rows


def merged(histograms: Sequence[Histogram]) -> dict[int, int]:
    """The sum of histograms."""
    total: dict[int, int] = defaultdict(int)
    for histogram in histograms:
        for value, count in histogram.items():
            total[value] += count
    return total


def _latency(flows: Sequence[Flow], histogram: Histogram) -> Latency:
    return latency(histogram, sum(flow.total_us for flow in flows), max(flow.max_us for flow in flows))
