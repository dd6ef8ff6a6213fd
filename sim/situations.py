"""What the exhaustive chooser walks: the rings it starts from, who joins, and how much may happen."""

from __future__ import annotations

from dataclasses import dataclass

from chord.amounts import counted

LIST = 2
"""Entries of a successor list: rings of 2 and 3 are small ones, whose lists hold everybody; with 4 lists are cut."""


@dataclass(frozen=True, slots=True)
class Situation:
    """An ideal ring of these processes, others that join at any moment, and the budgets of what else may happen.

    `stabilizations` are for each process, or for all together when `shared`. `enters`: a joiner makes itself known at
    once, with a stabilization, a notification and a nudge, as `dht join` does; otherwise it only joins, and it is
    stabilizations that make it known. `failures` are for the whole schedule; within it never more than Zave allows
    from one ideal ring to the next, which is one fewer than the entries of a list.
    """

    ring: tuple[int, ...]
    joiners: tuple[int, ...]
    stabilizations: int
    shared: bool
    failures: int
    enters: bool

    @property
    def nodes(self) -> int:
        """Processes that run, all together."""
        return len(self.ring) + len(self.joiners)

    def __str__(self) -> str:
        joins = " and ".join(map(str, self.joiners))
        times = counted(self.stabilizations, "stabilization") + ("" if self.shared else " each")
        joined = f", {joins} {'enter' if self.enters else 'join'}" if joins else ""
        return f"ring {' '.join(map(str, self.ring))}{joined}; {times}; {counted(self.failures, 'failure')} at most"


def situations(most_nodes: int, whole: bool) -> list[Situation]:
    """The situations with 2 to `most_nodes` nodes; without `whole` those that are walked within a minute."""
    chosen = [
        # From one node: the first two meet, and two come at the same moment.
        Situation((2,), (8,), 2, False, 1, False),
        Situation((2,), (8,), 2 if whole else 1, False, 1, True),
        Situation((2,), (5, 8), 2 if whole else 1, False, 1, False),
        Situation((2,), (5, 8), 1 if whole else 0, True, 1, True),
        # From two: growing to three, and to four, where lists are cut; both in one gap, and one in each.
        Situation((2, 8), (5,), 2 if whole else 1, False, 1, False),
        Situation((2, 8), (5,), 2 if whole else 1, True, 1, True),
        Situation((2, 8), (5, 11), 2, not whole, 1, False),
        Situation((2, 8), (5, 6), 2, not whole, 1, False),
        Situation((2, 8), (5, 11), 1 if whole else 0, True, 1, True),
        Situation((2, 8), (5, 6), 1 if whole else 0, True, 1, True),
        # From three to four, and back by a failure.
        Situation((2, 5, 8), (11,), 2, not whole, 1, False),
        Situation((2, 5, 8), (11,), 1, True, 1, True),
        # From four, by failures, to one.
        Situation((2, 5, 8, 11), (), 2, not whole, 3, False),
    ]
    return [situation for situation in chosen if situation.nodes <= most_nodes]
