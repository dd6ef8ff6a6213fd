"""Kernels joined in memory on virtual time, and scripted peers: what unit tests of operations run in."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterable
from typing import Any

from chord.asking import Ring
from chord.driven import Output, Respond, Send
from chord.effects import Operation
from chord.errors import RingcastError
from chord.host import Host
from chord.identifiers import IdentifierSpace
from chord.kernel import Kernel
from chord.messages import Pointer, Reply, ReplyBody, Request
from chord.settings import Settings
from chord.wire import failure

DELAY_S = 0.001


class World:
    """Delivers messages between kernels after a millisecond. Time passes only when nothing else is left to do.

    `lost(sender, receiver, message)` may swallow a message.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.kernels: dict[str, Kernel] = {}
        self.lost: Callable[[str, str, Request | Reply], bool] = lambda _sender, _receiver, _message: False
        self.sent: list[tuple[str, str, Request | Reply]] = []
        self._due: list[tuple[float, int, str, str, Request | Reply]] = []
        self._number = 0
        self.clients = 0

    def add(self, kernel: Kernel) -> None:
        """Connect a kernel."""
        kernel.now = self.now
        self.kernels[kernel.address] = kernel

    def crash(self, address: str) -> None:
        """A process is gone without a word."""
        del self.kernels[address]

    def start(self, kernel: Kernel, operation: Operation[Any]) -> list[Any]:
        """Begin an operation; its result or error is put into the list returned."""
        outcome: list[Any] = []
        kernel.now = self.now
        kernel.start(operation, lambda result, error: outcome.append(error or result))
        self._carry_out(kernel, kernel.take())
        return outcome

    def finish(self, kernel: Kernel, operation: Operation[Any], at_most_s: float = 60.0) -> Any:
        """Run an operation to its end; returns its result or raises its error."""
        outcome = self.start(kernel, operation)
        self.run(lambda: bool(outcome), at_most_s)
        assert outcome, f"the operation did not end within {at_most_s} s of virtual time"
        if isinstance(outcome[0], RingcastError):
            raise outcome[0]
        return outcome[0]

    def run(self, until: Callable[[], bool] = lambda: False, at_most_s: float = 60.0) -> bool:
        """Let things happen until `until()` holds, or so much time has passed."""
        end = self.now + at_most_s
        while not until():
            timers = [(kernel.deadline(), address) for address, kernel in self.kernels.items()]
            timer = min(((when, address) for when, address in timers if when is not None), default=None)
            if self._due and (timer is None or self._due[0][0] <= timer[0]):
                when, _, sender, receiver, message = heapq.heappop(self._due)
                self.now = max(self.now, when)
                kernel = self.kernels.get(receiver)
                if kernel is not None:
                    self._carry_out(kernel, kernel.on_message(sender, message, self.now))
            elif timer is not None and timer[0] <= end:
                self.now = max(self.now, timer[0])
                kernel = self.kernels[timer[1]]
                self._carry_out(kernel, kernel.on_timer(self.now))
            else:
                self.now = end
                return until()
            if self.now > end:
                return until()
        return True

    def _carry_out(self, kernel: Kernel, outputs: list[Output]) -> None:
        for output in outputs:
            if isinstance(output, Send):
                self._send(kernel.address, output.address, output.message)
            elif isinstance(output, Respond):
                self._send(kernel.address, output.route, output.message)

    def _send(self, sender: str, receiver: str, message: Request | Reply) -> None:
        self.sent.append((sender, receiver, message))
        if not self.lost(sender, receiver, message):
            self._number += 1
            heapq.heappush(self._due, (self.now + DELAY_S, self._number, sender, receiver, message))


Answer = Callable[[Request], ReplyBody | RingcastError | None]


def scripted(world: World, address: str, answer: Answer) -> list[Request]:
    """A peer that answers with what `answer(request)` returns, or not at all; returns the requests it will have got."""
    got: list[Request] = []

    class Peer(Kernel):
        def on_message(self, source: Any, message: Request | Reply, now: float) -> list[Output]:
            self.now = now
            if not isinstance(message, Request):
                return []
            got.append(message)
            body = answer(message)
            if body is None or message.call == 0:
                return []
            if isinstance(body, RingcastError):
                body = failure(body)
            return [Respond(source, Reply(1, message.call, body))]

    world.add(Peer("ringcast", address, random.Random(0)))
    return got


def kept(one: Host) -> list[Any]:
    """The trace rows that a process leaves from now on."""
    rows: list[Any] = []
    one.kernel.emit = rows.append  # type: ignore[method-assign]
    return rows


def pointer(identifier: int, address: str = "", incarnation: int = 1) -> Pointer:
    """A member; its address is made from its identifier unless given."""
    return Pointer(identifier, address or f"n{identifier}:1", incarnation)


class SmallSpace(IdentifierSpace):
    """Ten bits, and the member at address nX:1 has identifier X (plus the index of the virtual node)."""

    def __init__(self) -> None:
        super().__init__(10)

    def member(self, cluster: str, address: str, index: int = 0) -> int:  # noqa: ARG002  # the name of the test tells the identifier
        return (int(address.partition(":")[0].removeprefix("n")) + index) & 1023

    def key(self, name: str) -> int:
        return int(name.removeprefix("k")) if name.startswith("k") else super().key(name)


SPACE = SmallSpace()
SETTINGS = Settings(space=SPACE)


def host(world: World, identifier: int, settings: Settings = SETTINGS, seed: int = 0) -> Host:
    """A process with one member of that identifier, not yet in any ring."""
    made = Host(settings, f"n{identifier}:1", 1, random.Random(identifier + 1000 * seed))
    world.add(made.kernel)
    return made


def boot(world: World, identifiers: list[int], settings: Settings = SETTINGS) -> list[Host]:
    """A settled ring of these members, joined one after the other."""
    hosts: list[Host] = []
    for identifier in identifiers:
        made = host(world, identifier, settings)
        world.finish(made.kernel, made.boot([each.kernel.address for each in hosts[:1]], 30.0))
        hosts.append(made)
    assert world.run(lambda: all(each.members[0].reach.complete for each in hosts), 60.0)
    world.run(at_most_s=5.0)
    return hosts


def client(world: World, via: Iterable[Host]) -> tuple[Kernel, Ring]:
    """A process outside the ring, one more each time, and the ring through these processes."""
    world.clients += 1
    kernel = Kernel("ringcast", f"client{world.clients}", random.Random(world.clients))
    world.add(kernel)
    return kernel, Ring(kernel, [each.kernel.address for each in via], SPACE)
