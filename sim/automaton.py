"""The production code of one process as a table: from a state, by an input, to a state and the messages it sends.

A process is a deterministic automaton, and processes meet in messages only. So the steps of each one are carried out
once and looked up from then on, which makes walking millions of states of a whole ring a matter of table look-ups.
States and messages are numbers here. A state that is needed again is rebuilt by repeating the inputs that led to it.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from chord.member import Member
from chord.messages import Pointer
from chord.settings import Settings
from sim.by_hand import Message, Process

PROCESSES_KEPT = 4_000
"""Processes kept as they stand, so that the next step of a state just found needs no rebuilding."""

Input = tuple[Any, ...]
"""What happens to a process: a name and its arguments; see `apply`."""


def apply(process: Process, happening: Input) -> list[Message]:
    """Carry one input out."""
    match happening:
        case ("settle", ring):
            process.settle(ring)
            return []
        case ("receive", message):
            return process.receive(message)
        case ("time out", call):
            return process.time_out(call)
        case ("wake", position):
            return process.wake(position)
        case ("join", via, enters):
            return process.join(via, enters)
        case ("stabilize",):
            return process.stabilize()
        case ("rectify",):
            return process.rectify()
    raise AssertionError(f"nothing is known of {happening!r}")


class Numbers:
    """Numbers for things that compare by value, in the order in which they were met."""

    def __init__(self) -> None:
        self.things: list[Any] = []
        self._numbers: dict[Hashable, int] = {}

    def of(self, thing: Hashable) -> int:
        """The number of a thing, a new one if it is new."""
        number = self._numbers.setdefault(thing, len(self.things))
        if number == len(self.things):
            self.things.append(thing)
        return number


@dataclass(slots=True, frozen=True)
class State:
    """One state of one process, and how it was reached.

    `member` is a copy of its member as it was then. `untouched`: nothing has happened to it since it was started.
    """

    address: str
    before: int
    happening: Input
    member: Member
    ring_state: int
    waiting: tuple[tuple[int, str], ...]
    pauses: int
    untouched: bool


class Automaton:
    """The table of all processes with these settings. `steps` counts those that were really carried out.

    `shown` has a member for each of the `ring_states`: what can be told from outside.
    """

    def __init__(self, settings: Settings) -> None:
        self.states: list[State] = []
        self.messages = Numbers()
        self.ring_states = Numbers()
        self.shown: list[Member] = []
        self.steps = 0
        self._settings = settings
        self._fingerprints = Numbers()
        self._table: dict[tuple[int, Hashable], tuple[int, tuple[int, ...]]] = {}
        self._kept: OrderedDict[int, Process] = OrderedDict()

    def begin(self, address: str, ring: tuple[Pointer, ...] = ()) -> int:
        """The state of a process that has just been started, or is a member of an ideal ring."""
        process = Process(self._settings, address)
        happening: Input = ("begin",)
        if ring:
            happening = ("settle", ring)
            apply(process, happening)
        return self._note(process, -1, happening)

    def me(self, address: str) -> Pointer:
        """The member of the process at an address."""
        return Process(self._settings, address).member.me

    def receive(self, state: int, message: int) -> tuple[int, tuple[int, ...]]:
        """A message arrives: the next state, and the messages that this sends."""
        found = self._table.get((state, message))
        if found is None:
            found = self._table[state, message] = self._step(state, ("receive", self.messages.things[message]))
        return found

    def happen(self, state: int, happening: Input) -> tuple[int, tuple[int, ...]]:
        """Anything else happens."""
        found = self._table.get((state, happening))
        if found is None:
            found = self._table[state, happening] = self._step(state, happening)
        return found

    def _step(self, number: int, happening: Input) -> tuple[int, tuple[int, ...]]:
        process = self._kept.pop(number, None) or self._rebuilt(number)
        self.steps += 1
        sent = tuple(self.messages.of(message) for message in apply(process, happening))
        return self._note(process, number, happening), sent

    def _note(self, process: Process, before: int, happening: Input) -> int:
        number = self._fingerprints.of((process.address, process.fingerprint()))
        if number == len(self.states):
            member = copy.copy(process.member)
            seen = self.ring_states.of((member.me, member.active, member.leaving, member.state))
            if seen == len(self.shown):
                self.shown.append(member)
            self.states.append(
                State(
                    process.address,
                    before,
                    happening,
                    member,
                    seen,
                    tuple(process.waiting()),
                    process.pauses(),
                    happening == ("begin",),
                )
            )
        self._kept[number] = process
        if len(self._kept) > PROCESSES_KEPT:
            self._kept.popitem(last=False)
        return number

    def _rebuilt(self, number: int) -> Process:
        path = []
        at = number
        while at >= 0:
            path.append(self.states[at].happening)
            at = self.states[at].before
        process = Process(self._settings, self.states[number].address)
        for happening in reversed(path):
            if happening[0] != "begin":
                apply(process, happening)
        return process
