"""A ring of processes without a clock, whose every step somebody chooses: which message arrives, who fails, when.

Links keep no order. A process that fails stops: what was on its way to it is lost, what it sent still arrives. Calls to
live processes do not time out (Zave's perfect detection).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from chord.member import Member
from chord.messages import Failure, Pointer, Reply, Request
from chord.settings import Settings
from sim import checks
from sim.by_hand import Message, Process
from sim.invariants import Principals, broken

STEPS_AT_MOST = 20_000
"""Steps until a ring that is left alone is at rest: a few for each process and each entry of a list."""


def kind(message: Message) -> str:
    """What a message is called: the type of its body, or the error that a reply tells of."""
    body = message.body.body
    return body.kind if isinstance(body, Failure) else type(body).__name__


def is_cast(message: Message) -> bool:
    """Whether nobody waits for an answer, so that it may well arrive twice."""
    return message.body.call == 0


class Ring:
    """The processes that run, by address, and the messages on their way, the oldest first.

    `wrong` says what must never hold of the members as they are.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.processes: dict[str, Process] = {}
        self.flight: list[Message] = []
        self._lives: dict[str, int] = {}
        self._lost: set[tuple[str, int]] = set()
        self._principals = Principals()

    # Who runs ------------------------------------------------------------------------------------------------------

    def begin(self, addresses: Sequence[str]) -> None:
        """Start an ideal ring of these processes."""
        started = sorted((self._started(address) for address in addresses), key=lambda process: process.member.me.id)
        ring = [process.member.me for process in started]
        for process in started:
            process.settle(ring)
        self.rest()

    def join(self, address: str, via: Sequence[str], enters: bool = True) -> None:
        """Have a process, which is started if it does not run, begin to join through others."""
        process = self.processes.get(address) or self._started(address)
        self._sent(process.join(via, enters))

    def fail(self, address: str) -> None:
        """A process stops without a word."""
        del self.processes[address]
        self.flight = [message for message in self.flight if message.receiver != address]
        self._lost = {lost for lost in self._lost if lost[0] != address}
        for asker, process in self.processes.items():
            self._lost |= {(asker, call) for call, asked in process.waiting() if asked == address}

    def _started(self, address: str) -> Process:
        life = self._lives[address] = self._lives.get(address, -1) + 1
        process = self.processes[address] = Process(self.settings, address, life)
        return process

    # Steps ---------------------------------------------------------------------------------------------------------

    def stabilize(self, address: str) -> None:
        """A member begins to stabilize."""
        self._sent(self.processes[address].stabilize())

    def rectify(self, address: str) -> None:
        """A member begins to ping its predecessor, which has been silent for long."""
        self._sent(self.processes[address].rectify())

    def begin_leaving(self, address: str) -> None:
        """A member begins to leave; its process ends when it has left."""
        self._sent(self.processes[address].leave())
        self._end(address)

    def deliver(self, position: int, again: bool = False) -> None:
        """A message on its way arrives. `again`: and once more some time later."""
        message = self.flight[position] if again else self.flight.pop(position)
        assert is_cast(message) or not again, f"{kind(message)} is no cast, and arrives once"
        self._sent(self.processes[message.receiver].receive(message))
        if type(message.body) is Reply:
            self._lost.discard((message.receiver, message.body.call))
        self._end(message.receiver)

    def time_out(self, address: str, call: int) -> None:
        """A call to a process that failed is given up. A reply of its that is on its way is lost."""
        process = self.processes[address]
        other = dict(process.waiting())[call]
        assert (address, call) in self._lost, f"{other} runs, so no call to it times out"
        self._lost.remove((address, call))
        self.flight = [
            message
            for message in self.flight
            if not (message.receiver == address and type(message.body) is Reply and message.body.call == call)
        ]
        self._sent(process.time_out(call))
        self._end(address)

    def wake(self, address: str, position: int = 0) -> None:
        """A pause ends."""
        self._sent(self.processes[address].wake(position))
        self._end(address)

    def _sent(self, messages: list[Message]) -> None:
        for message in messages:
            if message.receiver in self.processes:
                self.flight.append(message)
            elif type(message.body) is Request and message.body.call:
                self._lost.add((message.sender, message.body.call))

    def _end(self, address: str) -> None:
        """A process ends when it has left."""
        process = self.processes[address]
        if process.member.leaving and not process.leaving:
            self.fail(address)

    # Left alone ----------------------------------------------------------------------------------------------------

    def overdue(self) -> list[tuple[str, int]]:
        """The calls that may time out: who waits for somebody that failed, and the id."""
        return [
            (address, call)
            for address, process in self.processes.items()
            for call, _ in process.waiting()
            if (address, call) in self._lost
        ]

    def run(self, concerns: Callable[[str], bool] = lambda _address: True) -> int:
        """Let everything go on, the oldest message first, until nothing is left to do; returns the steps.

        `concerns`: only what happens to those processes, or what they sent.
        """
        for steps in range(STEPS_AT_MOST):
            mine = (place for place, each in enumerate(self.flight) if concerns(each.receiver) or concerns(each.sender))
            overdue = (each for each in self.overdue() if concerns(each[0]))
            pausing = (address for address, each in self.processes.items() if each.pauses() and concerns(address))
            if (position := next(mine, None)) is not None:
                self.deliver(position)
            elif (late := next(overdue, None)) is not None:
                self.time_out(*late)
            elif (sleeper := next(pausing, None)) is not None:
                self.wake(sleeper)
            else:
                return steps
        raise AssertionError(f"not at rest after {STEPS_AT_MOST} steps: {self.flight[:4]}")

    def round(self) -> None:
        """What every member does from time to time, one after the other; who could not join tries again."""
        for address in list(self.processes):
            process = self.processes[address]
            if process.member.active:
                self.stabilize(address)
                self.run()
                predecessor = process.member.state.predecessor
                if predecessor is not None and not self._lives_on(predecessor):
                    self.rectify(address)
            else:
                self.join(address, [member.me.address for member in self.members() if member.active])
            self.run()

    def heal(self) -> tuple[int | None, list[str]]:
        """Rounds until the ring is ideal, as many as that takes; None and what is amiss when that is too many."""
        self.run()
        most = len(self.processes) + self.settings.successors
        for rounds in range(most + 1):
            faults = self.wrong() or checks.ideal_ring(self.members())
            if not faults:
                self.rest()
                return rounds, []
            self.round()
        return None, faults

    def _lives_on(self, pointer: Pointer) -> bool:
        process = self.processes.get(pointer.address)
        return process is not None and process.member.me == pointer

    # What is seen --------------------------------------------------------------------------------------------------

    def members(self) -> list[Member]:
        """Every member, those that are joining included."""
        return [process.member for process in self.processes.values()]

    def at_rest(self) -> bool:
        """Whether nothing is on its way and nobody waits."""
        return not self.flight and not any(process.busy for process in self.processes.values())

    def ideal(self) -> bool:
        """Whether the ring is at rest and ideal."""
        return self.at_rest() and not checks.ideal_ring(self.members())

    def wrong(self) -> list[str]:
        """What must never hold of the members as they are."""
        return broken(self.members()) or self._principals.lost(self.members())

    def rest(self) -> None:
        """The ring is ideal: it rests on the members that it has."""
        self._principals.rest_on(self.members())
