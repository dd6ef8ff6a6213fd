"""All that can happen next in a state of a small ring, and the states that it leads to.

One thing happens at a time: a message on its way arrives (any of them; links keep no order), a call to a process that
has failed times out (one to a live process never does: Zave's perfect detection), a pause ends, a process joins or
begins to stabilize, or a member fails.
"""

from __future__ import annotations

from collections.abc import Iterator

from chord.messages import Reply
from sim.automaton import Input
from sim.global_states import GONE, GlobalState, GlobalStates, Processes
from sim.situations import LIST, Situation

Choice = tuple[int, Input]
"""What happens next: at which process, and what. A failure is an input that a process does not survive."""

FAIL: Input = ("fail",)
JOIN: Input = ("join",)
STABILIZE: Input = ("stabilize",)


class Choices:
    """What a situation allows to happen."""

    def __init__(self, situation: Situation, states: GlobalStates) -> None:
        self._situation = situation
        self._states = states
        self._automaton = states.automaton
        self._places = states.places
        self._contacts = tuple(map(str, situation.ring))

    def following(self, state: GlobalState) -> Iterator[tuple[Choice, GlobalState]]:
        """Each choice, and the state after it."""
        processes, left, stabilizations, flight = state
        automaton = self._automaton
        messages = automaton.messages.things
        before = -1
        for position, message in enumerate(flight):
            if message == before:
                continue
            before = message
            place = self._places[messages[message].receiver]
            rest = processes, left, stabilizations, flight[:position] + flight[position + 1 :]
            outcome = automaton.receive(processes[place], message)
            yield (place, ("receive", messages[message])), self._after(rest, place, outcome)
        for place, number in enumerate(processes):
            if number != GONE:
                yield from self._without_message(state, place)

    def settled(self, processes: Processes, place: int, happening: Input) -> Processes:
        """Where one thing and all that follows from it lead, the first message in order first."""
        state: GlobalState = processes, (0, 0, 0, 0), (0,) * self._situation.nodes, ()
        state = self._after(state, place, self._automaton.happen(processes[place], happening))
        while (following := next(self.following(state), None)) is not None:
            state = following[1]
        return state[0]

    def _without_message(self, state: GlobalState, place: int) -> Iterator[tuple[Choice, GlobalState]]:
        """What can happen to one process other than that a message arrives."""
        processes, left, stabilizations, flight = state
        to_join, failures, budget, base = left
        automaton = self._automaton
        number = processes[place]
        process = automaton.states[number]
        happening: Input
        for call, address in process.waiting:
            if processes[self._places[address]] == GONE:
                happening = ("time out", call)
                rest = processes, left, stabilizations, self._without_reply(flight, address, process.address, call)
                yield (place, happening), self._after(rest, place, automaton.happen(number, happening))
        for position in range(process.pauses):
            happening = ("wake", position)
            yield (place, happening), self._after(state, place, automaton.happen(number, happening))
        if to_join >> place & 1:
            happening = ("join", self._contacts, self._situation.enters)
            rest = processes, (to_join & ~(1 << place), failures, budget, base), stabilizations, flight
            yield (place, JOIN), self._after(rest, place, automaton.happen(number, happening))
        if not process.member.active:
            return
        turn = 0 if self._situation.shared else place
        if stabilizations[turn]:
            fewer = (*stabilizations[:turn], stabilizations[turn] - 1, *stabilizations[turn + 1 :])
            rest = processes, left, fewer, flight
            yield (place, STABILIZE), self._after(rest, place, automaton.happen(number, STABILIZE))
        if failures and budget:
            yield (place, FAIL), self._after_failure(state, place)

    def _after(self, state: GlobalState, place: int, outcome: tuple[int, tuple[int, ...]]) -> GlobalState:
        """A process is in another state and has sent messages; those to who has failed are lost."""
        processes, left, stabilizations, flight = state
        number, sent = outcome
        processes = (*processes[:place], number, *processes[place + 1 :])
        if sent:
            messages = self._automaton.messages.things
            reach = [message for message in sent if processes[self._places[messages[message].receiver]] != GONE]
            flight = tuple(sorted((*flight, *reach)))
        return self._refilled(processes, left, stabilizations, flight)

    def _after_failure(self, state: GlobalState, place: int) -> GlobalState:
        """A process stops. What was on its way to it is lost; what it has sent still arrives."""
        processes, (to_join, failures, budget, base), stabilizations, flight = state
        messages = self._automaton.messages.things
        failed = self._states.addresses[place]
        return self._refilled(
            (*processes[:place], GONE, *processes[place + 1 :]),
            (to_join, failures - 1, budget - 1, base),
            stabilizations,
            tuple(message for message in flight if messages[message].receiver != failed),
        )

    def _refilled(
        self,
        processes: Processes,
        left: tuple[int, int, int, int],
        stabilizations: tuple[int, ...],
        flight: tuple[int, ...],
    ) -> GlobalState:
        """The budget of failures is full again in a ring that is ideal and at rest; the last member never fails."""
        states = self._states
        if not flight and states.at_rest(processes):
            judged = states.judged(states.views(processes))
            if judged.ideal:
                left = (left[0], left[1], min(LIST, judged.members) - 1, states.active(processes))
        return processes, left, stabilizations, flight

    def _without_reply(self, flight: tuple[int, ...], sender: str, receiver: str, call: int) -> tuple[int, ...]:
        """A reply that a failed process sent may be lost with it: then the call times out instead."""
        messages = self._automaton.messages.things
        for position, number in enumerate(flight):
            message = messages[number]
            if (message.sender, message.receiver) != (sender, receiver) or type(message.body) is not Reply:
                continue
            if message.body.call == call:
                return flight[:position] + flight[position + 1 :]
        return flight
