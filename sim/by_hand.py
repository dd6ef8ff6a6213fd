"""A ring process without a clock: whoever drives it chooses every step, down to which time-out fires.

It runs the production code. Time stands still, so that no step depends on how long something took: a pause ends, and
a call times out, when the driver says so. Records and fingers are left out; they do not decide the ring's pointers.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import msgspec

from chord import handover, joining, maintenance
from chord.driven import Respond, Send
from chord.effects import Operation
from chord.errors import RingcastError
from chord.host import Host
from chord.identifiers import IdentifierSpace
from chord.member import Member
from chord.messages import Pointer, Reply, Request, contact
from chord.ring_state import RingState
from chord.settings import Settings
from sim.checks import ideal_list
from sim.standing import pointers_and_flags, stand

BITS = 10
"""Bits of an identifier where addresses are identifiers."""

FIRST_NAME = 2**40
"""Ids above those that a kernel gives to calls."""


class NumberedSpace(IdentifierSpace):
    """A circle on which the process at address `6` has identifier 6."""

    def member(self, cluster: str, address: str, index: int = 0) -> int:  # noqa: ARG002  # the address says it all
        return int(address) & (self.size - 1)


class Message(NamedTuple):
    """A message under way between two processes."""

    sender: str
    receiver: str
    body: Request | Reply


class Process:
    """One ring process with one member. `life` tells apart those that ran under one address one after the other.

    Each step returns the messages that are to be sent. `failed` holds the operations that last ended in an error.
    """

    def __init__(self, settings: Settings, address: str, life: int = 0) -> None:
        self.host = Host(settings, address, 1, random.Random(f"{address}/{life}"))
        self.address = address
        self.member: Member = self.host.members[0]
        self.member.start_repairing = lambda: None
        self.member.start_yielding = lambda _low, _predecessor: None
        self.failed: dict[str, RingcastError] = {}
        self._kernel = self.host.kernel
        self._under_way: list[str] = []

    # Steps ---------------------------------------------------------------------------------------------------------

    def settle(self, ring: Sequence[Pointer]) -> None:
        """Become a member of an ideal ring of these members, in identifier order; this one is among them."""
        me = self.member.me
        at = ring.index(me)
        following = [*ring[at + 1 :], *ring[:at]]
        state = self.member.state
        listed = ideal_list(state, following)
        self.member.state = RingState(
            me,
            state.space,
            state.length,
            state.others,
            listed,
            len(listed) == len(following),
            following[-1] if following else None,
        )
        self.member.active = self.member.attached = self.member.adopted = True

    def join(self, via: Sequence[str], enters: bool = True) -> list[Message]:
        """Begin to join through some addresses; `enters`: and to make itself known, which a stabilization does else."""
        contacts = [contact(address) for address in via]
        return self._start("join", _joining(self.member, contacts, enters))

    def stabilize(self) -> list[Message]:
        """Begin a stabilization; one that is under way goes round once more instead."""
        return self._start("stabilize", maintenance.stabilize(self.member))

    def rectify(self) -> list[Message]:
        """Begin to ping the predecessor, as is done when it has been silent for long."""
        return self._start("rectify", maintenance.rectify(self.member))

    def leave(self) -> list[Message]:
        """Begin to leave."""
        return self._start("leave", handover.hand_over(self.member))

    def receive(self, message: Message) -> list[Message]:
        """Take a message that arrived."""
        return self._sent(self._kernel.on_message(message.sender, message.body, 0.0))

    def time_out(self, call: int) -> list[Message]:
        """Give a call up, as when its peer did not answer in time."""
        kernel = self._kernel
        kernel._replies.timed_out(call, kernel.now)
        return self._go_on()

    def wake(self, position: int) -> list[Message]:
        """End a pause: the one at that place of `pauses`."""
        kernel = self._kernel
        timer = self._paused()[position]
        kernel._timers.remove(timer)
        kernel._ready.append((timer[2], None, None))
        return self._go_on()

    # What it waits for ---------------------------------------------------------------------------------------------

    def waiting(self) -> list[tuple[int, str]]:
        """The calls without an answer: their ids, and whom they ask."""
        return [(call, waiting.to.address) for call, waiting in self._kernel._calls.items()]

    def pauses(self) -> int:
        """How many operations pause."""
        return len(self._paused())

    @property
    def busy(self) -> bool:
        """Whether an operation waits for anything."""
        return bool(self._kernel._calls) or bool(self._paused())

    @property
    def leaving(self) -> bool:
        """Whether it has begun to leave and is not through."""
        return "leave" in self._under_way

    def fingerprint(self) -> Hashable:
        """All that can decide what this process does next."""
        calls = self._kernel._calls.items()
        return (
            pointers_and_flags(self.member),
            tuple(sorted(self._under_way)),
            tuple(sorted(self.failed)),
            tuple(sorted((call, each.to.address, stand(each.running.generator)) for call, each in calls)),
            tuple(stand(timer[2].generator) for timer in self._paused()),
            tuple(
                sorted(
                    (address, min(peer.timeouts, 2))
                    for address, peer in self._kernel.round_trips._peers.items()
                    if peer.timeouts
                )
            ),
        )

    # Inside the kernel ---------------------------------------------------------------------------------------------

    def _paused(self) -> list[Any]:
        """The timers of pauses, in an order that depends on where the operations stand only."""
        timers = [timer for timer in self._kernel._timers if not isinstance(timer[2], int)]
        return sorted(timers, key=lambda timer: repr(stand(timer[2].generator)))

    def _name_call(self, request: Request) -> Request:
        """Give a call an id that tells what is asked by whom, so that the same call has the same id on every path."""
        if not request.call:
            return request
        calls = self._kernel._calls
        waiting = calls.pop(request.call)
        asked = repr((self.member.me, waiting.to.address, request.body, request.to, stand(waiting.running.generator)))
        name = FIRST_NAME + zlib.crc32(asked.encode())
        while name in calls:
            name += 1
        calls[name] = waiting
        return msgspec.structs.replace(request, call=name)

    def _start(self, name: str, operation: Operation[Any]) -> list[Message]:
        self._under_way.append(name)
        self.failed.pop(name, None)

        def ended(_result: Any, error: RingcastError | None) -> None:
            self._under_way.remove(name)
            if error is not None:
                self.failed[name] = error

        self._kernel.start(operation, ended)
        return self._sent(self._kernel.take())

    def _go_on(self) -> list[Message]:
        self._kernel._run()
        return self._sent(self._kernel.take())

    def _sent(self, outputs: Sequence[Any]) -> list[Message]:
        sent = []
        for output in outputs:
            if isinstance(output, Send):
                sent.append(Message(self.address, output.address, self._name_call(output.message)))
            elif isinstance(output, Respond):
                sent.append(Message(self.address, output.route, output.message))
        return sent


def _joining(member: Member, via: list[Pointer], enters: bool) -> Operation[None]:
    """What a process that joins does to the ring."""
    yield from joining.join(member, via)
    member.reach.complete = True  # there are no records that it would have to take over
    if enters:
        yield from joining.enter(member)
