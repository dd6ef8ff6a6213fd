"""Walks every order in which the messages of a small ring can arrive, and operations begin, and judges every state.

At each point one thing happens: a message on its way arrives (any of them; links keep no order), a call to a process
that has failed times out (one to a live process never does: Zave's perfect detection), a pause ends, a process joins
or begins to stabilize, or a member fails. All that can happen is tried, breadth first, so a schedule that breaks the
ring is as short as any. States that compare equal (sim/standing.py) are walked on from once.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from chord.member import Member
from chord.messages import Reply
from chord.settings import Settings
from sim import checks, invariants
from sim.automaton import Automaton, Input
from sim.by_hand import BITS, NumberedSpace
from sim.situations import LIST, Situation

GONE = 2**32 - 1
"""In place of the state of a process that failed."""

Choice = tuple[int, Input]
"""What happens next: at which process, and what. A failure is an input that a process does not survive."""

FAIL: Input = ("fail",)
JOIN: Input = ("join",)
STABILIZE: Input = ("stabilize",)
RECTIFY: Input = ("rectify",)

Ring = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""A state of the whole ring: of each process; what is left of joins and failures, of failures until the ring is ideal
again, and the members that it had when it was (joins and members as bits); stabilizations left; messages on their way.
"""


@dataclass
class Walked:
    """What a walk saw. `schedule` is a shortest one that ends in what is `wrong`."""

    situation: Situation
    states: int = 0
    transitions: int = 0
    process_states: int = 0
    process_steps: int = 0
    healed: int = 0
    rounds: int = 0
    complete: bool = False
    wrong: list[str] = field(default_factory=list)
    schedule: list[Choice] = field(default_factory=list)


@dataclass(slots=True)
class _Judged:
    """What the neighbours of all members together say."""

    wrong: list[str]
    ideal: bool
    members: int


class Walk:
    """One walk through all that can happen in a situation."""

    def __init__(self, situation: Situation) -> None:
        self.situation = situation
        self.walked = Walked(situation)
        self._automaton = Automaton(Settings(successors=LIST, failures=0, space=NumberedSpace(BITS)))
        self._addresses = [str(identifier) for identifier in (*situation.ring, *situation.joiners)]
        self._place = {address: place for place, address in enumerate(self._addresses)}
        self._contacts = tuple(map(str, situation.ring))
        self._judged: dict[tuple[int, ...], _Judged] = {}
        self._lost: dict[tuple[tuple[int, ...], int], list[str]] = {}
        self._width = len(self._addresses)

    def run(self, at_most: int) -> Walked:
        """Walk through at most so many states."""
        walked = self.walked
        start = self._pack(self._start())
        came_from: dict[bytes, bytes] = {start: start}
        queue = deque([start])
        while queue and not walked.wrong and len(came_from) < at_most:
            key = queue.popleft()
            here = self._unpack(key)
            seen = self._views(here[0])
            for choice, following in self._choices(here):
                walked.transitions += 1
                reached = self._pack(following)
                if reached in came_from:
                    continue
                came_from[reached] = key
                wrong = self._wrong(following, seen)
                if wrong:
                    walked.wrong = wrong
                    walked.schedule = [*self._schedule(came_from, key), choice]
                    break
                queue.append(reached)
        walked.states = len(came_from)
        walked.complete = not queue and not walked.wrong
        walked.process_states = len(self._automaton.states)
        walked.process_steps = self._automaton.steps
        return walked

    # What can happen -----------------------------------------------------------------------------------------------

    def _start(self) -> Ring:
        situation = self.situation
        automaton = self._automaton
        ring = tuple(automaton.me(str(identifier)) for identifier in sorted(situation.ring))
        processes = [automaton.begin(address, ring if address in self._contacts else ()) for address in self._addresses]
        to_join = (1 << self._width) - (1 << len(situation.ring))
        stabilizations = (situation.stabilizations,) * (1 if situation.shared else self._width)
        budget = min(LIST, len(situation.ring)) - 1
        base = (1 << len(situation.ring)) - 1
        return tuple(processes), (to_join, situation.failures, budget, base), stabilizations, ()

    def _choices(self, ring: Ring) -> Iterator[tuple[Choice, Ring]]:
        processes, left, stabilizations, flight = ring
        to_join, failures, budget, base = left
        automaton = self._automaton
        states = automaton.states
        before = -1
        for position, message in enumerate(flight):
            if message == before:
                continue
            before = message
            place = self._place[automaton.messages.things[message].receiver]
            rest = flight[:position] + flight[position + 1 :]
            outcome = automaton.receive(processes[place], message)
            yield (
                (place, ("receive", automaton.messages.things[message])),
                self._after(processes, place, outcome, rest, left, stabilizations),
            )
        for place, number in enumerate(processes):
            if number == GONE:
                continue
            state = states[number]
            for call, address in state.waiting:
                if processes[self._place[address]] == GONE:
                    happening: Input = ("time out", call)
                    rest = self._without_reply(flight, address, state.address, call)
                    outcome = automaton.happen(number, happening)
                    yield (place, happening), self._after(processes, place, outcome, rest, left, stabilizations)
            for position in range(state.pauses):
                happening = ("wake", position)
                outcome = automaton.happen(number, happening)
                yield (place, happening), self._after(processes, place, outcome, flight, left, stabilizations)
            if to_join >> place & 1:
                outcome = automaton.happen(number, ("join", self._contacts, self.situation.enters))
                joined = (to_join & ~(1 << place), failures, budget, base)
                yield (place, JOIN), self._after(processes, place, outcome, flight, joined, stabilizations)
            if not state.member.active:
                continue
            turn = 0 if self.situation.shared else place
            if stabilizations[turn]:
                outcome = automaton.happen(number, STABILIZE)
                fewer = (*stabilizations[:turn], stabilizations[turn] - 1, *stabilizations[turn + 1 :])
                yield (place, STABILIZE), self._after(processes, place, outcome, flight, left, fewer)
            if failures and budget:
                yield (place, FAIL), self._after_failure(ring, place)

    def _after(
        self,
        processes: tuple[int, ...],
        place: int,
        outcome: tuple[int, tuple[int, ...]],
        flight: tuple[int, ...],
        left: tuple[int, ...],
        stabilizations: tuple[int, ...],
    ) -> Ring:
        number, sent = outcome
        processes = (*processes[:place], number, *processes[place + 1 :])
        if sent:
            messages = self._automaton.messages.things
            reach = [message for message in sent if processes[self._place[messages[message].receiver]] != GONE]
            flight = tuple(sorted((*flight, *reach)))
        return self._refilled(processes, left, stabilizations, flight)

    def _after_failure(self, ring: Ring, place: int) -> Ring:
        """A process stops. What was on its way to it is lost; what it has sent still arrives."""
        processes, (to_join, failures, budget, base), stabilizations, flight = ring
        messages = self._automaton.messages.things
        failed = self._addresses[place]
        return self._refilled(
            (*processes[:place], GONE, *processes[place + 1 :]),
            (to_join, failures - 1, budget - 1, base),
            stabilizations,
            tuple(message for message in flight if messages[message].receiver != failed),
        )

    def _refilled(
        self,
        processes: tuple[int, ...],
        left: tuple[int, ...],
        stabilizations: tuple[int, ...],
        flight: tuple[int, ...],
    ) -> Ring:
        """The budget of failures is full again in a ring that is ideal and at rest; the last member never fails."""
        if not flight and self._at_rest(processes):
            judged = self._judge(self._views(processes))
            if judged.ideal:
                left = (left[0], left[1], min(LIST, judged.members) - 1, self._active(processes))
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

    # Judging -------------------------------------------------------------------------------------------------------

    def _views(self, processes: tuple[int, ...]) -> tuple[int, ...]:
        states = self._automaton.states
        return tuple(GONE if number == GONE else states[number].ring_state for number in processes)

    def _at_rest(self, processes: tuple[int, ...]) -> bool:
        states = self._automaton.states
        return not any(states[number].waiting or states[number].pauses for number in processes if number != GONE)

    def _judge(self, views: tuple[int, ...]) -> _Judged:
        found = self._judged.get(views)
        if found is None:
            shown = self._automaton.shown
            members = [shown[view] for view in views if view != GONE and shown[view].active]
            found = _Judged(invariants.broken(members), not checks.ideal_ring(members), len(members))
            self._judged[views] = found
        return found

    def _wrong(self, ring: Ring, seen: tuple[int, ...]) -> list[str]:
        processes, left, _, flight = ring
        views = self._views(processes)
        wrong = self._judge(views).wrong
        if not wrong and views != seen:
            wrong = self._demoted(views, left[3])
        if not wrong and not flight and self._at_rest(processes):
            wrong, rounds = self._heal(processes)
            self.walked.healed += 1
            self.walked.rounds = max(self.walked.rounds, rounds)
        return wrong

    def _demoted(self, views: tuple[int, ...], base: int) -> list[str]:
        """P4: the members that the ring had when it was ideal are principal for as long as they live."""
        lost = self._lost.get((views, base))
        if lost is None:
            shown = self._automaton.shown
            principals = invariants.Principals()
            principals.rest_on(shown[view] for place, view in enumerate(views) if base >> place & 1 and view != GONE)
            lost = self._lost[views, base] = principals.lost([shown[view] for view in views if view != GONE])
        return lost

    def _active(self, processes: tuple[int, ...]) -> int:
        states = self._automaton.states
        return sum(
            1 << place for place, number in enumerate(processes) if number != GONE and states[number].member.active
        )

    def _heal(self, processes: tuple[int, ...]) -> tuple[list[str], int]:
        """P6 and P7: left to itself the ring becomes ideal within so many rounds, and then stays as it is."""
        most = self._width + LIST
        for rounds in range(most + 1):
            judged = self._judge(self._views(processes))
            if judged.wrong:
                return judged.wrong, rounds
            if judged.ideal and self._all_joined(processes):
                return self._moved(processes), rounds
            processes = self._round(processes)
        return [
            f"not ideal after {most} rounds: {fault}" for fault in checks.ideal_ring(self._members(processes))
        ], most

    def _moved(self, processes: tuple[int, ...]) -> list[str]:
        """What further rounds change in an ideal ring: at most that a member finds out that its list is whole."""
        settled = self._round(processes)
        before = [(member.state.predecessor, member.state.successors) for member in self._members(processes)]
        after = [(member.state.predecessor, member.state.successors) for member in self._members(settled)]
        if before == after and self._views(self._round(settled)) == self._views(settled):
            return []
        return ["an ideal ring does not stay as it is when its members stabilize"]

    def _members(self, processes: tuple[int, ...]) -> list[Member]:
        states = self._automaton.states
        return [states[number].member for number in processes if number != GONE and not states[number].untouched]

    def _all_joined(self, processes: tuple[int, ...]) -> bool:
        states = self._automaton.states
        return all(number == GONE or states[number].untouched or states[number].member.active for number in processes)

    def _round(self, processes: tuple[int, ...]) -> tuple[int, ...]:
        """What every member does from time to time, one after the other; who could not join tries again."""
        states = self._automaton.states
        for place, number in enumerate(processes):
            if number == GONE or states[number].untouched:
                continue
            if not states[number].member.active:
                contacts = tuple(member.me.address for member in self._members(processes) if member.active)
                processes = self._drained(processes, place, ("join", contacts, self.situation.enters))
                continue
            processes = self._drained(processes, place, STABILIZE)
            predecessor = states[processes[place]].member.state.predecessor
            if predecessor is not None and processes[self._place[predecessor.address]] == GONE:
                processes = self._drained(processes, place, RECTIFY)  # it has been silent for long
        return processes

    def _drained(self, processes: tuple[int, ...], place: int, happening: Input) -> tuple[int, ...]:
        """One thing happens, and all that follows from it, the first message in order first."""
        ring = self._after(
            processes, place, self._automaton.happen(processes[place], happening), (), (0, 0, 0, 0), (0,) * self._width
        )
        while (following := next(self._choices(ring), None)) is not None:
            ring = following[1]
        return ring[0]

    # States as bytes -----------------------------------------------------------------------------------------------

    def _pack(self, ring: Ring) -> bytes:
        processes, left, stabilizations, flight = ring
        return array("I", processes + left + stabilizations + flight).tobytes()

    def _unpack(self, key: bytes) -> Ring:
        numbers = tuple(array("I", key))
        width = self._width
        after = width + 4 + (1 if self.situation.shared else width)
        return numbers[:width], numbers[width : width + 4], numbers[width + 4 : after], numbers[after:]

    def _schedule(self, came_from: dict[bytes, bytes], key: bytes) -> list[Choice]:
        """What happened from the start to a state."""
        schedule: list[Choice] = []
        while (before := came_from[key]) != key:
            schedule.append(
                next(choice for choice, ring in self._choices(self._unpack(before)) if self._pack(ring) == key)
            )
            key = before
        return schedule[::-1]
