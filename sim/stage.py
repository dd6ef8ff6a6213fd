"""Where a chaos run happens: the cluster of its plan, who runs there, who is cut off from whom, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from chord.identifiers import IdentifierSpace
from chord.settings import Settings
from sim.cluster import Cluster, address_of
from sim.latency import king
from sim.network import Link, uniform
from sim.plan import FAULTS, Kind, Plan

POOL = 40
"""Addresses that a run may use."""


class Broken(Exception):
    """Something happened that must never happen."""


class Stuck(Exception):
    """Something that has to happen did not within its time."""


class Verdict(msgspec.Struct, kw_only=True):
    """What came of a run. `verdict`: ok, unsafe, or stuck; `findings` say why. Times are virtual seconds.

    `checks` counts the states judged, `lost` the frames that loss and splits took, `healed_s` is how long the ring took
    to become ideal after the chaos. Of the faults, `left_out` are those of the plan that nobody was there for, with
    why, and `added` those that were done instead of them, so that there were as many as there have to be.
    """

    seed: int
    style: str
    start: int
    verdict: str = "ok"
    findings: list[str] = []
    deliveries: int = 0
    lost: int = 0
    faults: dict[str, int] = {}
    left_out: dict[str, int] = {}
    added: dict[str, int] = {}
    asked: dict[str, int] = {}
    acknowledged: int = 0
    checks: int = 0
    healed_s: float | None = None
    virtual_s: float = 0.0


ROUND_TRIPS = 200
"""Of the mean length, for which everything waits beyond its time: on slow links all that a ring does is slow."""

SLOW_AT_MOST_S = 120.0


class Stage:
    """The cluster of one run. `strict`: processes only stop, and nobody takes a live one for dead."""

    def __init__(self, plan: Plan, keep: Callable[[msgspec.Struct], None]) -> None:
        self.plan = plan
        self.strict = plan.style == "stop"
        self.verdict = Verdict(seed=plan.seed, style=plan.style, start=plan.start)
        settings = Settings(
            successors=plan.successors,
            failures=min(2, plan.successors - 1),
            replicas=plan.replicas,
            stabilize_s=plan.stabilize_s,
            repair_s=plan.repair_s,
            heal_s=1.0,
            space=IdentifierSpace(plan.bits),
        )
        latency = king(plan.seed) if plan.king else uniform(*plan.latency_s)
        self.slow_s = min(ROUND_TRIPS * sum(plan.latency_s), SLOW_AT_MOST_S)
        self.calm = Link(latency)
        self.raging = Link(latency, plan.loss, plan.duplication)
        self.cluster = Cluster(plan.seed, settings, self.calm, plan.vnodes, keep, plan.drift)
        self.free = list(self._distinct())
        self.sides: tuple[frozenset[str], frozenset[str]] | None = None

    def count(self, kind: Kind) -> None:
        """Note that something was done."""
        counts = self.verdict.faults if kind in FAULTS else self.verdict.asked
        counts[kind] = counts.get(kind, 0) + 1

    def leave_out(self, kind: Kind, why: str) -> None:
        """Note that something of the plan is not done."""
        counts, what = self.verdict.left_out, f"{kind} ({why})"
        counts[what] = counts.get(what, 0) + 1

    def staying(self) -> list[str]:
        """The processes that are not leaving."""
        return [address for address, node in self.cluster.nodes.items() if not node.leaving]

    def running(self) -> list[str]:
        """Those of them that have booted, in ring order, so that neighbours fail together."""
        settings = self.cluster.settings
        return sorted(
            (address for address in self.staying() if self.cluster.nodes[address].booted.done),
            key=lambda address: settings.space.member(settings.cluster, address),
        )

    def settled(self) -> bool:
        """Whether the ring is ideal and nobody is joining or leaving."""
        return len(self.staying()) == len(self.cluster.nodes) and self.cluster.has_converged()

    def apart(self, one: str, other: str) -> bool:
        """Whether a split lies between two addresses."""
        return self.sides is not None and (one in self.sides[0]) != (other in self.sides[0])

    def _distinct(self) -> Iterator[str]:
        """Addresses none of whose identifiers is another's."""
        settings = self.cluster.settings
        taken: set[int] = set()
        for number in range(POOL):
            address = address_of(number)
            mine = {settings.space.member(settings.cluster, address, index) for index in range(self.plan.vnodes)}
            if not mine & taken:
                taken |= mine
                yield address
