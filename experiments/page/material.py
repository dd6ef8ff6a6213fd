"""What a report is made of: runs, their gold tables, published figures that were run anew, and what was damaged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from experiments.page.rows import (
    Delivery,
    Failover,
    Flow,
    Hops,
    HotKey,
    LookupLatency,
    Lookups,
    NodeLoad,
    Owners,
    Second,
    Slowest,
    Wire,
)

SIMULATED = frozenset(["sim", "static"])


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run as its run.json tells it, in the words of that file. `of` is the RUN it was given under."""

    name: str
    source: str
    of: str = ""
    ring_size: int | None = None
    successors: int | None = None
    vnodes: int | None = None
    commit: str = "unknown"
    started_us: int = 0
    seed: int | None = None
    clients: int | None = None
    dissemination: str | None = None
    mode: str | None = None
    plan: str | None = None
    cell: str | None = None
    repeat: int | None = None
    kill_us: int | None = None
    primary_kill_us: int | None = None
    machine: Mapping[str, Any] = field(default_factory=dict)
    faults: Sequence[Mapping[str, Any]] = ()

    @property
    def simulated(self) -> bool:
        return self.source in SIMULATED

    def kills_s(self) -> dict[str, float]:
        """Faults by name, in seconds since the start of the run."""
        found = {"kill -9 of a node": self.kill_us, "kill -9 of a primary": self.primary_kill_us}
        found |= {f"{fault['kind']} {fault.get('target', '')}".strip(): fault.get("at_us") for fault in self.faults}
        return {text: (at - self.started_us) / 1e6 for text, at in found.items() if at}


@dataclass(frozen=True, kw_only=True)
class Paper:
    """One figure of `python -m sim paper`: the rows of its CSV, as text, and what its cells say of themselves."""

    name: str
    of: str
    rows: Sequence[Mapping[str, str]]
    seeds: Sequence[int]
    commit: str
    written_us: int
    quick: bool = False


@dataclass(kw_only=True)
class Material:
    """Everything that was read of the runs that the report was asked for."""

    runs: list[Run] = field(default_factory=list)
    papers: list[Paper] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    damage: list[str] = field(default_factory=list)
    hops: list[Hops] = field(default_factory=list)
    lookups: list[Lookups] = field(default_factory=list)
    lookup_latency: list[LookupLatency] = field(default_factory=list)
    delivery: list[Delivery] = field(default_factory=list)
    flows: list[Flow] = field(default_factory=list)
    timeline: list[Second] = field(default_factory=list)
    failover: list[Failover] = field(default_factory=list)
    consistency: list[Owners] = field(default_factory=list)
    node_load: list[NodeLoad] = field(default_factory=list)
    hot_keys: list[HotKey] = field(default_factory=list)
    slowest: list[Slowest] = field(default_factory=list)
    wire: list[Wire] = field(default_factory=list)
    asked: list[Path] = field(default_factory=list)

    def run(self, name: str) -> Run:
        """What is known of a run; of one that only its rows name, nothing but that."""
        return next((run for run in self.runs if run.name == name), Run(name=name, source="unknown"))

    def paper(self, name: str) -> Paper | None:
        """The published figure of this name, if it was run anew."""
        return next((paper for paper in self.papers if paper.name == name), None)


def when(us: int) -> str:
    """Microseconds since the epoch as a reader's date and time."""
    return datetime.fromtimestamp(us / 1e6, UTC).strftime("%Y-%m-%d %H:%M UTC") if us else "not recorded"
