"""Asks every member of a ring from outside it, all side by side, from one thread and one kernel."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from chord.asking import Ring
from chord.effects import Operation, gather
from chord.errors import RingcastError
from chord.kernel import Kernel
from chord.messages import Neighbours, contact
from chord.outcome import Outcome
from chord.sockets import make_context
from chord.views import ring_walk
from chord.zmq_driver import ZmqDriver

R = TypeVar("R")

TURN_S = 0.05

Views = dict[str, list[Neighbours] | RingcastError]
"""What `dht ring` says through each node: the members in the order of the walk, or why there was none."""


class Observer:
    """One process outside the ring of `cluster`, until it is closed."""

    def __init__(self, cluster: str) -> None:
        self._context = make_context()
        self._kernel = Kernel(cluster, "observer", random.Random())
        self._driver = ZmqDriver(self._context, self._kernel)

    def ring(self, via: list[str], patience_s: float) -> Ring:
        """The ring through some of its nodes, for operations to `start`."""
        return Ring(self._kernel, via, patience_s=patience_s)

    def start(self, operation: Operation[R], then: Callable[[R, RingcastError | None], None]) -> Outcome[R]:
        """Begin an operation; `then(result, error)` is called while turning."""
        return self._driver.start(operation, then)

    def turn_until(self, moment: float) -> None:
        """Let operations go on until a moment of the monotonic clock."""
        while (left := moment - time.monotonic()) > 0:
            self._driver.turn(min(TURN_S, left))

    def ask_all(self, operations: Iterable[Operation[R]]) -> list[R | RingcastError]:
        """Run operations side by side to their ends: their results or errors, in order."""
        outcome = self._driver.start(gather(list(operations)))
        self._driver.run(lambda: outcome.done)
        return outcome.value()

    def views(self, addresses: Iterable[str]) -> Views:
        """The walk of `dht ring` from each of these nodes."""
        asked = list(addresses)
        return dict(zip(asked, self.ask_all(ring_walk(contact(address)) for address in asked), strict=True))

    def close(self) -> None:
        """Close every socket."""
        self._driver.close()
        self._context.destroy(linger=0)
