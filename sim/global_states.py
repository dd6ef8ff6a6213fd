"""The states of a whole small ring, as numbers of an automaton (sim/automaton.py), and what each shows from outside."""

from __future__ import annotations

from array import array
from dataclasses import dataclass

from chord.member import Member
from chord.settings import Settings
from sim import checks, invariants
from sim.automaton import Automaton
from sim.by_hand import BITS, NumberedSpace
from sim.situations import LIST, Situation

GONE = 2**32 - 1
"""In place of the state of a process that failed."""

Processes = tuple[int, ...]
"""The state of each process."""

GlobalState = tuple[Processes, tuple[int, int, int, int], tuple[int, ...], tuple[int, ...]]
"""The processes; what is left of joins and failures, of failures until the ring is ideal again, and the members that it
had when it was (joins and members as bits); stabilizations left; messages on their way.
"""


@dataclass(slots=True, frozen=True)
class Judged:
    """What the neighbours of all members together say."""

    wrong: list[str]
    ideal: bool
    members: int


class GlobalStates:
    """Those that a situation can lead to. `places`: where in a state the process at an address is."""

    def __init__(self, situation: Situation) -> None:
        self.automaton = Automaton(Settings(successors=LIST, failures=0, space=NumberedSpace(BITS)))
        self.addresses = [str(identifier) for identifier in (*situation.ring, *situation.joiners)]
        self.places = {address: place for place, address in enumerate(self.addresses)}
        self._situation = situation
        self._judged: dict[tuple[int, ...], Judged] = {}
        self._lost: dict[tuple[tuple[int, ...], int], list[str]] = {}

    def start(self) -> GlobalState:
        """The ideal ring, whose joiners have not begun."""
        situation = self._situation
        automaton = self.automaton
        size = len(situation.ring)
        ring = tuple(automaton.me(str(identifier)) for identifier in sorted(situation.ring))
        processes = [
            automaton.begin(address, ring if place < size else ()) for place, address in enumerate(self.addresses)
        ]
        base = (1 << size) - 1
        to_join = (1 << situation.nodes) - 1 - base
        stabilizations = (situation.stabilizations,) * (1 if situation.shared else situation.nodes)
        return tuple(processes), (to_join, situation.failures, min(LIST, size) - 1, base), stabilizations, ()

    def views(self, processes: Processes) -> tuple[int, ...]:
        """What each process shows of its neighbours."""
        states = self.automaton.states
        return tuple(GONE if number == GONE else states[number].ring_state for number in processes)

    def at_rest(self, processes: Processes) -> bool:
        """Whether nobody waits for anything."""
        states = self.automaton.states
        return not any(states[number].waiting or states[number].pauses for number in processes if number != GONE)

    def members(self, processes: Processes) -> list[Member]:
        """The members, and those that are joining."""
        states = self.automaton.states
        return [states[number].member for number in processes if number != GONE and not states[number].untouched]

    def active(self, processes: Processes) -> int:
        """The members, as bits."""
        states = self.automaton.states
        return sum(
            1 << place for place, number in enumerate(processes) if number != GONE and states[number].member.active
        )

    def judged(self, views: tuple[int, ...]) -> Judged:
        """What is to be said of the members that show this."""
        found = self._judged.get(views)
        if found is None:
            shown = self.automaton.shown
            members = [shown[view] for view in views if view != GONE and shown[view].active]
            found = Judged(invariants.broken(members), not checks.ideal_ring(members), len(members))
            self._judged[views] = found
        return found

    def demoted(self, views: tuple[int, ...], base: int) -> list[str]:
        """P4: the members that the ring had when it was ideal are principal for as long as they live."""
        lost = self._lost.get((views, base))
        if lost is None:
            shown = self.automaton.shown
            principals = invariants.Principals()
            principals.rest_on(shown[view] for place, view in enumerate(views) if base >> place & 1 and view != GONE)
            lost = self._lost[views, base] = principals.lost([shown[view] for view in views if view != GONE])
        return lost

    def packed(self, state: GlobalState) -> bytes:
        """A state in little memory."""
        processes, left, stabilizations, flight = state
        return array("I", processes + left + stabilizations + flight).tobytes()

    def unpacked(self, key: bytes) -> GlobalState:
        """The state that was packed."""
        numbers = tuple(array("I", key))
        left = self._situation.nodes
        stabilizations = left + 4
        flight = stabilizations + (1 if self._situation.shared else self._situation.nodes)
        to_join, failures, budget, base = numbers[left:stabilizations]
        return numbers[:left], (to_join, failures, budget, base), numbers[stabilizations:flight], numbers[flight:]
