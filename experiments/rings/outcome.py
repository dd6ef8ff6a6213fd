"""What is asked for, and what came of each round: when the ring agreed again, and which records are wrong."""

from __future__ import annotations

from msgspec import Struct

from chord.settings import Settings
from experiments.rings.plan import Plan

REPLICAS = Settings().replicas

OUTDATED = ("stale", "revived", "unseen")
"""What is wrong with a record of which a change was missed."""


class Options(Struct, frozen=True, kw_only=True):
    """Which rounds, on which ring; `nodes` at the beginning, 0: drawn."""

    seed: int
    first: int = 1
    rounds: int
    nodes: int = 0
    successors: int = 8


class Outcome(Struct, kw_only=True):
    """One round. Times in seconds from its last event; None: not within the time.

    `agreed_s`: until every node's walk was the live nodes with full lists; `copied_s`: until each record was held by
    as many as it should. `wrong`: what was read that should not have been; `views`: what each live node said when the
    round was broken.
    """

    plan: Plan
    successors: int
    agreed_s: float | None = None
    copied_s: float | None = None
    broken: str = ""
    puts: int = 0
    acknowledged: int = 0
    read: int = 0
    wrong: dict[str, str] = {}
    late: int = 0
    done: list[str] = []
    views: dict[str, str] = {}
    notes: list[str] = []

    @property
    def bad(self) -> bool:
        """Whether the ring is broken, or a record wrong that had to be right."""
        return bool(self.broken or self.faults)

    @property
    def faults(self) -> dict[str, str]:
        """What is wrong though fewer nodes failed at once than hold a record."""
        return {name: what for name, what in self.wrong.items() if not self._excused(what)}

    @property
    def excused(self) -> dict[str, str]:
        """What is wrong because all nodes that held it may have failed at once."""
        return {name: what for name, what in self.wrong.items() if self._excused(what)}

    def _excused(self, what: str) -> bool:
        """A record is lost with the nodes that held it. One that stands still keeps it, but hears of no change."""
        failed = self.plan.count("kill")
        if what.partition(":")[0] in OUTDATED:
            failed += self.plan.long_stops
        return failed >= REPLICAS

    def story(self) -> str:
        """What was done and what came of it, in lines, with how to do it again."""
        plan = self.plan
        lines = [f"round {plan.number} of seed {plan.seed}: {self.broken or f'{len(self.wrong)} records are wrong'}"]
        lines += [f"  {each}" for each in self.done]
        lines += [f"  {address} says {said}" for address, said in self.views.items()]
        lines += [f"  {name} {what}" for name, what in self.wrong.items()]
        lines += [f"  note: {note}" for note in self.notes]
        again = (
            f"--seed {plan.seed} --first {plan.number} --nodes {plan.nodes} --rounds 1 --successors {self.successors}"
        )
        return "\n".join([*lines, f"  again: python -m experiments rounds {again}"])
