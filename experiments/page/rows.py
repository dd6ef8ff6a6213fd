"""Rows of the gold tables as the report reads them: counts and histograms. What a table lacks stays null.

Columns that are not named here are passed over, so a table may grow.
"""

from __future__ import annotations

import msgspec


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """Every row belongs to a run."""

    run: str


class Hops(Row, frozen=True, kw_only=True):
    """How many answered lookups took so many hops: forwards after the node first asked."""

    hops: int
    count: int
    source: str = "unknown"
    ring_size: int | None = None
    vnodes: int | None = None
    successors: int | None = None
    mode: str = "unknown"
    seed: int | None = None


class Lookups(Row, frozen=True, kw_only=True):
    """The lookups of one outcome. `total_us` and `max_us` are sum and maximum of their durations."""

    outcome: str
    count: int
    source: str = "unknown"
    ring_size: int | None = None
    vnodes: int | None = None
    successors: int | None = None
    mode: str = "unknown"
    timeouts: int = 0
    total_us: int | None = None
    max_us: int | None = None


class LookupLatency(Row, frozen=True, kw_only=True):
    """A bucket of durations; `step` is `lookup` until the owner is named, `owner` for the step to it."""

    bucket: int
    count: int
    source: str = "unknown"
    ring_size: int | None = None
    mode: str = "unknown"
    step: str = "lookup"


class Delivery(Row, frozen=True, kw_only=True):
    """A bucket of times from publisher to subscriber."""

    bucket: int
    count: int
    dissemination: str = "unknown"
    topic: str | None = None


class Flow(Row, frozen=True, kw_only=True):
    """What one subscriber got on one topic. `published` and `lost` are null where nothing tells what was sent."""

    topic: str
    publisher: str = ""
    subscriber: str = ""
    label: str | None = None
    dissemination: str = "unknown"
    published: int | None = None
    distinct: int = 0
    lost: int | None = None
    duplicated: int = 0


class Second(Row, frozen=True, kw_only=True):
    """How often something of one kind happened in a second, counted from the run's start."""

    second: int
    kind: str
    count: int


class Failover(Row, frozen=True, kw_only=True):
    """What followed a fault: `ms` is the wait for the first of a kind, or until the last lookup that failed."""

    kind: str
    ms: float
    fault: str = "fault"
    target: str = ""
    count: int = 1


class Owners(Row, frozen=True, kw_only=True):
    """How often lookups named a wrong owner: of `checked` that were held against the members' identifiers, and of
    `lookups` that were compared with others for the same key, those that named another owner at the time."""

    checked: int = 0
    wrong: int = 0
    lookups: int = 0
    lookups_conflicting: int = 0


class NodeLoad(Row, frozen=True, kw_only=True):
    """What one node did: lookups that went through it, and those whose key it owned."""

    node: str
    address: str = ""
    lookups_routed: int = 0
    owned: int = 0
    in_degree: int | None = None


class HotKey(Row, frozen=True, kw_only=True):
    """How often a key was looked up."""

    key: str
    count: int
    name: str = ""


class Slowest(Row, frozen=True, kw_only=True):
    """One of the slowest lookups; `path` is its hops as text."""

    rank: int
    duration_us: int
    trace_id: str = ""
    path: str = ""


class Wire(Row, frozen=True, kw_only=True):
    """One sample's latency as the application saw it and between packets on the wire, in microseconds; the latter is
    null where a packet was not seen at both ends."""

    topic: str
    sequence: int
    app_us: float
    wire_us: float | None = None
