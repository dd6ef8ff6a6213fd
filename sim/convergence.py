"""P6 and P7 of a small ring: left to itself it becomes ideal within so many rounds, and then stays as it is."""

from __future__ import annotations

from sim import checks
from sim.automaton import Input
from sim.choices import STABILIZE, Choices
from sim.global_states import GONE, GlobalStates, Processes
from sim.situations import LIST, Situation

RECTIFY: Input = ("rectify",)


class Convergence:
    """Rounds of stabilization, in which nothing else happens but what follows from them."""

    def __init__(self, situation: Situation, states: GlobalStates, choices: Choices) -> None:
        self._situation = situation
        self._states = states
        self._choices = choices

    def wrong(self, processes: Processes) -> tuple[list[str], int]:
        """What is wrong on the way of a ring at rest to the ideal one; and the rounds until then."""
        states = self._states
        most = self._situation.nodes + LIST
        for rounds in range(most + 1):
            judged = states.judged(states.views(processes))
            if judged.wrong:
                return judged.wrong, rounds
            if judged.ideal and all(member.active for member in states.members(processes)):
                return self._moved(processes), rounds
            processes = self._round(processes)
        faults = checks.ideal_ring(states.members(processes))
        return [f"not ideal after {most} rounds: {fault}" for fault in faults], most

    def _moved(self, processes: Processes) -> list[str]:
        """What further rounds change in an ideal ring: at most that a member finds out that its list is whole."""
        states = self._states
        settled = self._round(processes)
        before = [(member.state.predecessor, member.state.successors) for member in states.members(processes)]
        after = [(member.state.predecessor, member.state.successors) for member in states.members(settled)]
        if before == after and states.views(self._round(settled)) == states.views(settled):
            return []
        return ["an ideal ring does not stay as it is when its members stabilize"]

    def _round(self, processes: Processes) -> Processes:
        """What every member does from time to time, one after the other; who could not join tries again."""
        table = self._states.automaton.states
        settled = self._choices.settled
        for place, number in enumerate(processes):
            if number == GONE or table[number].untouched:
                continue
            if not table[number].member.active:
                contacts = tuple(member.me.address for member in self._states.members(processes) if member.active)
                processes = settled(processes, place, ("join", contacts, self._situation.enters))
                continue
            processes = settled(processes, place, STABILIZE)
            predecessor = table[processes[place]].member.state.predecessor
            if predecessor is not None and processes[self._states.places[predecessor.address]] == GONE:
                processes = settled(processes, place, RECTIFY)  # it has been silent for long
        return processes
