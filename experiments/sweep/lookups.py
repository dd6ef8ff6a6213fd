"""The lookups of a cell on real processes: a client outside the ring, which asks each node in turn."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import zmq
from msgspec import Struct

from broker.processes import ProcessFailed
from chord.addresses import advertised
from chord.asking import Ring
from chord.errors import RingcastError
from chord.kernel import Kernel
from chord.settings import Settings
from chord.sockets import Socket, bind, make_context, make_socket
from chord.tracing import Tracing
from chord.zmq_driver import ZmqDriver
from experiments.sweep.cells import Cell, Told
from experiments.sweep.names import names

WARM = 3
"""Lookups through each node that leave no trace: they connect the client to all of them."""

TELL_EVERY = 50
HOST = "127.0.0.1"
OTHERS = 2
"""Nodes besides the first that a lookup falls back on, where some of them fail."""


class Lookups:
    """Asks the ring at some addresses. Use it in a `with` block; no owner is cached."""

    def __init__(self, mode: str = "iterative", host: str = HOST) -> None:
        self._context = make_context()
        router: Socket | None = None
        self._answer_at = ""
        if mode == "recursive":
            router = make_socket(self._context, zmq.ROUTER)
            self._answer_at = advertised(host, bind(router, host, 0), None)
        self._kernel = Kernel(Settings().cluster, "sweep", random.Random())
        self._tracing = Tracing(None, "sweep", "")
        self._driver = ZmqDriver(self._context, self._kernel, router, keep=self._keep)
        self._rings: dict[str, Ring] = {}

    def warm(self, addresses: list[str]) -> None:
        """Connect to each of them. Raises ProcessFailed when there is no ring to begin with."""
        for turn in range(WARM):
            for address in addresses:
                error = self._look_up(address, [], f"sweep/warm/{turn}")
                if error is not None:
                    raise ProcessFailed(f"the ring of the sweep does not answer: {error}")

    def ask(
        self, cell: Cell, traces: Path, addresses: Callable[[], list[str]], meanwhile: Callable[[], None], told: Told
    ) -> int:
        """Look up what the cell does, with traces in `traces`; returns how many failed, which are rows like the others.

        `addresses` tells whom to ask; `meanwhile` is called before each lookup.
        """
        self._tracing = Tracing(traces, "sweep", "the lookups do not")
        began, failed = time.monotonic(), 0
        for number, name in enumerate(islice(names(cell.seed), cell.lookups)):
            self._pause(cell.lookup_rate, began, number, meanwhile)
            living = addresses()
            first = number % len(living)
            others = [living[(first + step) % len(living)] for step in range(1, OTHERS + 1)] if cell.faults else []
            failed += self._look_up(living[first], others, name) is not None
            if (number + 1) % TELL_EVERY == 0 or cell.lookup_rate is not None:
                self._tracing.flush_if_due()
                told(number + 1, cell.lookups)
        return failed

    def _pause(self, rate: float | None, began: float, number: int, meanwhile: Callable[[], None]) -> None:
        """Until it is time for a lookup, at its rate."""
        meanwhile()
        if rate is not None:
            due = began + number / rate
            while (left := due - time.monotonic()) > 0:
                time.sleep(min(left, 0.05))
                meanwhile()

    def _look_up(self, address: str, others: list[str], name: str) -> RingcastError | None:
        """One lookup; the error if it failed."""
        if others:
            ring = Ring(self._kernel, [address, *others], answer_at=self._answer_at)
        elif address in self._rings:
            ring = self._rings[address]
        else:
            ring = self._rings[address] = Ring(self._kernel, [address], answer_at=self._answer_at)
        outcome = self._driver.start(ring.locate(name))
        self._driver.run(lambda: outcome.done)
        return outcome.error

    def _keep(self, row: Struct) -> None:
        self._tracing.append(row)

    def __enter__(self) -> Lookups:
        return self

    def __exit__(self, *_: object) -> None:
        self._driver.close()
        self._context.destroy(linger=0)
        self._tracing.close()
