"""One chaos run: a plan carried out on a cluster, judged at every step, healed, and judged once more."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import zip_longest
from typing import Any

import msgspec

from chord.messages import Pointer
from chord.trace import EventTrace
from sim.faults import WAIT_S, WAITS, Faults
from sim.plan import LARGEST, Action, Kind, Plan
from sim.questions import Questions
from sim.stage import Broken, Stage, Stuck, Verdict
from sim.watch import Watch

BEGIN_WITHIN_S = 60.0
HEAL_WITHIN_S = {"stop": 30.0, "rough": 60.0, "split": 120.0}
ANSWER_WITHIN_S = 30.0
MORE_WITHIN_S = 300.0
STAY_S = 0.6
POLL_S = 0.1

LEAST_DELIVERIES = 200
LEAST_FAULTS = 5


class Chaos:
    """Carries out one plan. `keep` receives the trace rows."""

    def __init__(self, plan: Plan, keep: Callable[[msgspec.Struct], None] = lambda _row: None) -> None:
        self._keep = keep
        self.stage = Stage(plan, self._row)
        self.plan = plan
        self.cluster = self.stage.cluster
        self._watch = Watch(self.stage)
        self.questions = Questions(self.stage, self._watch)
        self._faults = Faults(self.stage, self._watch, self.questions)
        self._rng = self.cluster.rng("chaos")
        self._begin_within_s = BEGIN_WITHIN_S + self.stage.slow_s
        self._heal_within_s = HEAL_WITHIN_S[plan.style] + self.stage.slow_s
        self._answer_within_s = ANSWER_WITHIN_S + self.stage.slow_s

    def run(self) -> Verdict:
        """Carry the plan out to its end, or to the first thing that is wrong."""
        verdict = self.stage.verdict
        try:
            self._begin()
            self._rage()
            self._heal()
            self._judge()
        except Broken as broken:
            verdict.verdict = "unsafe"
            verdict.findings = str(broken).split("\n")
        except Stuck as stuck:
            verdict.verdict = "stuck"
            verdict.findings = str(stuck).split("\n")
        except (AssertionError, LookupError, TypeError, ValueError, AttributeError) as error:
            verdict.verdict = "unsafe"
            verdict.findings = [f"{type(error).__name__}: {error}"]
        verdict.deliveries = self.cluster.network.delivered
        verdict.lost = self.cluster.network.lost
        verdict.acknowledged = self.questions.ledger.acknowledged
        verdict.virtual_s = round(self.cluster.now, 3)
        return verdict

    def describe(self, commit: str) -> dict[str, Any]:
        """The content of run.json (experiments/traces/run.py)."""
        settings = self.cluster.settings
        return {
            "run": f"chaos-{self.plan.seed}",
            "source": "sim",
            "cluster": settings.cluster,
            "ring_size": self.plan.start,
            "successors": settings.successors,
            "bits": settings.space.bits,
            "commit": commit,
            "started_us": 0,
            "seed": self.plan.seed,
            "verdict": msgspec.to_builtins(self.stage.verdict),
        }

    # The course ----------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """The first process starts a ring, the others join it, at once or one by one."""
        first = self.stage.free.pop(0)
        self.cluster.start(first, [])
        for _ in range(self.plan.start - 1):
            if not self.plan.together:
                self._until(self._faults.rested, self._begin_within_s, "the ring did not take a node in")
            self.cluster.start(self.stage.free.pop(0), [first])
        self._until(self._faults.rested, self._begin_within_s, "the ring did not become ideal")
        self._faults.refill()

    def _rage(self) -> None:
        """All that the plan holds, and, if that was little, a few more faults."""
        self.cluster.network.default = self.stage.raging
        began = self.cluster.now
        for action in self.plan.actions:
            self.cluster.scheduler.at(began + action.at, partial(self._perform, action))
        last = self.plan.actions[-1].at if self.plan.actions else 0.0
        self._run_for(last + POLL_S)
        for _ in range(WAITS):
            if self._faults.waiting:
                self._run_for(WAIT_S)
        end = self.cluster.now + MORE_WITHIN_S
        while self.plan.least and sum(self.stage.verdict.faults.values()) < LEAST_FAULTS:
            if self.cluster.now > end:
                raise Stuck("\n".join([f"the ring did not rest within {MORE_WITHIN_S:.0f} s", *self._why()]))
            if len(self.cluster.nodes) >= LARGEST or not self._add("join"):  # there may be no identifiers left
                self._add("restart")
            self._run_for(2 * POLL_S)

    def _heal(self) -> None:
        """Everything is mended, and the ring has a bounded time to become ideal."""
        cluster = self.cluster
        self._faults.end()
        cluster.network.default = self.stage.calm
        for node in list(cluster.nodes.values()):
            node.process.resume()
        began = cluster.now
        self._become_ideal()
        self.stage.verdict.healed_s = round(cluster.now - began, 3)
        self._until(lambda: not self.questions.pending, self._answer_within_s, "a client had no outcome")
        while self.plan.least and cluster.network.delivered < LEAST_DELIVERIES:
            self._perform_one("lookup")
            self._run_for(POLL_S)
        if not self.stage.strict:
            self._become_ideal()  # it may have come apart once more for a time-out of before

    def _become_ideal(self) -> None:
        """Wait until the ring is ideal, and stays so (Zave's P7).

        Where live processes may be taken for dead, a time-out of before the end may come yet; and rings that meet give
        their records back when they are one already.
        """
        if self.stage.strict:
            self._until(self.stage.settled, self._heal_within_s, "the ring did not become ideal again")
            changed = self._changed_within(STAY_S)
            if changed:
                raise Broken("\n".join(["an ideal ring changed though nothing happened:", *changed]))
            return
        end = self.cluster.now + self._heal_within_s
        self._until(self._faults.rested, end - self.cluster.now, "the ring did not become ideal again")
        while changed := self._changed_within(STAY_S):
            if self.cluster.now > end:
                raise Stuck("\n".join(["the ring did not come to rest:", *changed]))
            self._until(self._faults.rested, end - self.cluster.now, "the ring did not become ideal again")

    def _changed_within(self, duration_s: float) -> list[str]:
        before = self._neighbours()
        self._run_for(duration_s)
        pairs = zip_longest(before, self._neighbours())
        return [f"{was} is now {is_}" for was, is_ in pairs if was != is_]

    def _judge(self) -> None:
        """Everybody could join, and every record is there."""
        refused = self.cluster.refused
        if self.stage.strict and refused:
            raise Stuck("\n".join(f"{address} could not join: {error}" for address, error in refused.items()))
        self.questions.read_everything()
        self._until(lambda: not self.questions.pending, self._answer_within_s, "a client had no outcome")

    def _add(self, kind: Kind) -> bool:
        """A fault more than the plan has, if it can be."""
        faults, added = self.stage.verdict.faults, self.stage.verdict.added
        before = sum(faults.values())
        self._perform_one(kind)
        if sum(faults.values()) == before:
            return False
        added[kind] = added.get(kind, 0) + 1
        return True

    def _perform(self, action: Action) -> None:
        done_by = self.questions if action.kind in ("put", "delete", "get", "lookup") else self._faults
        getattr(done_by, action.kind)(action)

    def _perform_one(self, kind: Kind) -> None:
        self._perform(Action(at=0.0, kind=kind, number=self._rng.getrandbits(30)))

    # Time ----------------------------------------------------------------------------------------------------------

    def _run_for(self, duration_s: float) -> None:
        self.cluster.scheduler.run_until(self._watch.look, duration_s)

    def _until(self, done: Callable[[], bool], at_most_s: float, otherwise: str) -> None:
        end = self.cluster.now + at_most_s
        while not done():
            if self.cluster.now >= end:
                raise Stuck("\n".join([f"{otherwise} within {at_most_s:.0f} s", *self._why()]))
            self._run_for(POLL_S)

    def _why(self) -> list[str]:
        booting = [f"{address} has not booted" for address, node in self.cluster.nodes.items() if not node.booted.done]
        return booting + self.cluster.faults()[:8]

    def _neighbours(self) -> list[tuple[Pointer | None, tuple[Pointer, ...]]]:
        return [(member.state.predecessor, member.state.successors) for member in self.cluster.members()]

    def _row(self, row: msgspec.Struct) -> None:
        if self.stage.strict and type(row) is EventTrace and row.kind == "rejoining":
            raise Broken(f"{row.address} joins anew though the ring never fell apart")
        self._keep(row)
