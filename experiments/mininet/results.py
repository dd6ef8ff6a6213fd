"""What came of a cell, counted from its traces: few enough rows that no Spark is needed to tell them at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import msgspec

from chord.trace import LookupTrace
from experiments.capture.matching import WireRow
from experiments.traces.run import TRACES, RunInfo
from experiments.traces.spools import Damage, read_spool
from pubsub.trace import DeliveryTrace


class Latency(msgspec.Struct, frozen=True):
    """Percentiles by nearest rank, in microseconds."""

    count: int
    p50_us: int
    p95_us: int
    p99_us: int
    max_us: int


class Looked(msgspec.Struct, frozen=True, kw_only=True):
    """The lookups of a cell. In a ring with fingers alone the papers expect a `hops_mean` of `half_log2`."""

    asked: int
    ok: int
    timeouts: int
    hops_mean: float
    half_log2: float
    hops: dict[int, int]
    latency: Latency


class Result(msgspec.Struct, kw_only=True):
    """One cell. `ring_formed_s`: from the first process until the ring was one, with full lists.

    `wire` is None unless it was captured; `unmatched` deliveries were not seen at both ends.
    """

    cell: str
    run: str
    dissemination: str | None
    publishers: int | None
    subscribers: int | None
    lookups: Looked | None = None
    delivered: int = 0
    expected: int = 0
    app: Latency | None = None
    wire: Latency | None = None
    unmatched: int = 0
    faults: list[str] = []
    ring_size: int | None = None
    ring_formed_s: float | None = None


def count(directory: Path, info: RunInfo, wire: Sequence[WireRow] | None, expected: int) -> Result:
    """Read the traces of a cell."""
    lookups: list[LookupTrace] = []
    latencies: list[int] = []
    damage = Damage()
    for path in sorted([*(directory / TRACES).glob("*.trace"), *(directory / TRACES).glob("*.part")]):
        for row in read_spool(path, damage):
            if isinstance(row, LookupTrace) and row.origin == "mininet":
                lookups.append(row)
            elif isinstance(row, DeliveryTrace):
                latencies.append(row.received_us - row.published_us)
    result = Result(
        cell=directory.name,
        run=info.run,
        dissemination=info.dissemination,
        publishers=info.publishers,
        subscribers=info.subscriber_count,
        delivered=len(latencies),
        expected=expected,
        app=latency(latencies),
        faults=[f"{each['kind']} {each.get('host') or ', '.join(each['links'])}" for each in info.faults or []],
    )
    result.ring_size, result.ring_formed_s = info.ring_size, info.extra.get("ring_formed_s")
    if lookups:
        result.lookups = _looked(lookups, info.ring_size or 1)
    if wire is not None:
        seen = [row.wire_us for row in wire if row.wire_us is not None]
        result.wire, result.unmatched = latency(seen), len(wire) - len(seen)
    return result


def latency(values_us: Sequence[int]) -> Latency | None:
    """Their percentiles; None of none."""
    if not values_us:
        return None
    ordered = sorted(values_us)

    def rank(share: float) -> int:
        return ordered[max(0, math.ceil(share * len(ordered)) - 1)]

    return Latency(len(ordered), rank(0.5), rank(0.95), rank(0.99), ordered[-1])


def _looked(rows: Sequence[LookupTrace], ring_size: int) -> Looked | None:
    answered = [row for row in rows if row.outcome == "ok"]
    times = latency([row.duration_us for row in answered])
    if times is None:
        return None
    hops: dict[int, int] = {}
    for row in answered:
        hops[row.hops] = hops.get(row.hops, 0) + 1
    return Looked(
        asked=len(rows),
        ok=len(answered),
        timeouts=sum(row.timeouts for row in rows),
        hops_mean=sum(number * many for number, many in hops.items()) / len(answered),
        half_log2=math.log2(ring_size) / 2,
        hops=dict(sorted(hops.items())),
        latency=times,
    )
