"""What an analysis yields: the content of summary.json. Keys are only ever added; units come last in their names."""

from __future__ import annotations

from typing import Any

import msgspec

VERSION = 1
KEPT, BROKEN, INTERRUPTED, FAILED = "kept", "broken", "interrupted", "failed"
"""How a demo ends: with every promise kept, with some not kept, or early."""

SOURCE_NAMES = {
    "live": "live",
    "mininet": "Mininet",
    "sim": "simulated",
    "static": "simulated (static ring)",
    "unknown": "source unknown",
}


class Latency(msgspec.Struct, frozen=True):
    """Microseconds. Mean and maximum are exact; percentiles are within 0.6 %."""

    mean: float
    p50: int
    p99: int
    max: int


class Hops(msgspec.Struct, frozen=True):
    """Forwards after the node first asked, of the lookups that were answered. All four are exact."""

    mean: float
    p50: int
    p99: int
    max: int


class Subscriber(msgspec.Struct, frozen=True, kw_only=True):
    """What one subscriber got. `published` and `lost` are null when no publication row tells what was sent.

    `label` is what run.json calls it, if it does. `published` counts from the first sample that it got (from each
    publisher's first, if it asked for all of them). `delivered_after_kill` counts samples published after the kill;
    null in a run without one. `failover_ms`: how long after the kill of a zone's primary the first sample came that was
    published after it; of several publishers, from the last to come back.
    """

    run: str
    subscriber: str
    topics: list[str]
    published: int | None
    delivered: int
    distinct: int
    lost: int | None
    duplicated: int
    latency_us: Latency | None
    delivered_after_kill: int | None = None
    label: str | None = None
    mode: str | None = None
    zone: str | None = None
    failover_ms: float | None = None

    @property
    def name(self) -> str:
        """What a reader knows it by."""
        return self.label or self.subscriber


class Deliveries(msgspec.Struct, frozen=True, kw_only=True):
    """Latency from publisher to subscriber by mode and topic; a null topic stands for all of them."""

    run: str
    mode: str
    topic: str | None
    count: int
    latency_us: Latency


class Dissemination(msgspec.Struct, frozen=True, kw_only=True):
    """What all subscribers of one mode lost and got twice. `failover_ms` is the longest of those that read through a
    primary that was killed."""

    run: str
    mode: str
    subscribers: int
    published: int | None
    distinct: int
    lost: int | None
    duplicated: int
    failover_ms: float | None


class Lookups(msgspec.Struct, frozen=True, kw_only=True):
    """The lookups of one run and mode. Hops and latencies are those of lookups that were answered.

    `half_log2` is half log2 N; `expected_hops` is half log2 N - half log2 r + 1 with successor lists of r
    entries, half log2 N - 0.138 with lists of one; all four are null when nobody knows the ring's size.
    `after_kill` counts by outcome the lookups that any process began after the kill; null in a run without one.
    """

    run: str
    source: str
    ring_size: int | None
    successors: int | None
    mode: str
    count: int
    ok: int
    failed: int
    timeouts: int
    outcomes: dict[str, int]
    hops: Hops | None
    half_log2: float | None
    expected_hops: float | None
    latency_us: Latency | None
    owner_us_p50: int | None
    after_kill: dict[str, int] | None = None


class RingSize(msgspec.Struct, frozen=True, kw_only=True):
    """The lookups of one run and mode among runs of several ring sizes; latency until the owner is named."""

    run: str
    ring_size: int
    mode: str
    count: int
    failed: int
    hops: Hops | None
    half_log2: float | None
    expected_hops: float | None
    latency_us: Latency | None
    source: str = "unknown"


class StaticRing(msgspec.Struct, frozen=True, kw_only=True):
    """Path lengths of one cell in static rings of one size: all of its rings together. Hops are exact.

    `expected_hops` is half log2 N - 0.138, for fingers alone with nobody failed; null otherwise, and in rings of fewer
    than 1,024. `failed` is null when run.json does not tell it.
    """

    run: str
    ring_size: int | None
    successors: int | None
    vnodes: int | None
    mode: str
    lookups: int
    failed: int | None
    hops: Hops
    expected_hops: float | None


class ClientCount(msgspec.Struct, frozen=True, kw_only=True):
    """What one mode delivered in a run of so many publishers and subscribers. `lost` is null when nothing tells it."""

    run: str
    clients: int
    mode: str
    count: int
    lost: int | None
    latency_us: Latency
    source: str = "unknown"


class HopCount(msgspec.Struct, frozen=True):
    """How many answered lookups took so many hops."""

    run: str
    ring_size: int | None
    mode: str
    hops: int
    count: int


class Events(msgspec.Struct, frozen=True):
    """Events of one kind: how many, and when the first and the last happened, in seconds from the run's start."""

    run: str
    kind: str
    count: int
    first_s: float
    last_s: float


class TimelinePoint(msgspec.Struct, frozen=True):
    """How often something of one kind happened in one second (counted from the run's start).

    `kind` is an event's kind, or `delivery`, or a lookup's outcome as `lookup ok`.
    """

    run: str
    second: int
    kind: str
    count: int


class LatencyPoint(msgspec.Struct, frozen=True):
    """One step of a latency's cumulative distribution: the share of rows that took `latency_us` or less."""

    run: str
    table: str
    mode: str
    topic: str | None
    latency_us: int
    share: float


class Verdict(msgspec.Struct, kw_only=True):
    """How the demo ended, and what it checked beside Spark's tables: the random names that its load looked up.

    `failures` says, a sentence each, what did not hold, or why the demo ended early.
    """

    outcome: str
    lookups_checked: int = 0
    lookups_after_kill: int = 0
    wrong_after_kill: int = 0
    wrong_before_kill: int = 0
    failures: list[str] = []
    elapsed_s: float = 0.0


class Summary(msgspec.Struct, kw_only=True):
    """Everything that one analysis found. `latency` goes to a CSV of its own, not into summary.json."""

    version: int = VERSION
    runs: list[dict[str, Any]]
    rows: dict[str, int]
    damage: dict[str, Any]
    subscribers: list[Subscriber]
    deliveries: list[Deliveries]
    disseminations: list[Dissemination] = []
    ring_sizes: list[RingSize] = []
    static_rings: list[StaticRing] = []
    clients: list[ClientCount] = []
    lookups: list[Lookups]
    hops: list[HopCount]
    events: list[Events]
    timeline: list[TimelinePoint]
    latency: list[LatencyPoint]
    files: list[str] = []
    demo: Verdict | None = None
    elapsed_s: dict[str, float] = {}

    def add_verdict(self, verdict: Verdict) -> None:
        """Take in how the demo that left this run ended."""
        self.demo = verdict
        self.elapsed_s["demo"] = verdict.elapsed_s

    def as_json(self) -> bytes:
        """The content of summary.json: indented, keys in a fixed order."""
        content: dict[str, Any] = msgspec.to_builtins(self)
        del content["latency"]
        return msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n"
