"""RingClient: the ring for processes outside it, as plain blocking calls."""

from __future__ import annotations

import random
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import zmq

from chord.addresses import advertised, check_resolvable
from chord.asking import Ring
from chord.effects import Operation
from chord.errors import LocalProtocolError
from chord.kernel import Kernel
from chord.lookup import Walk
from chord.messages import Entry, Neighbours, Stored
from chord.names import check_cluster
from chord.sockets import Socket, bind, make_context, make_socket
from chord.tracing import Tracing
from chord.zmq_driver import ZmqDriver

R = TypeVar("R")


class Mode(StrEnum):
    """How a name is looked up: this process asks each hop, or the hops pass the question on."""

    ITERATIVE = "iterative"
    RECURSIVE = "recursive"


class RingClient:
    """Asks a ring through any of its nodes. One thread at a time; close it, or use it in a `with` block.

        with RingClient(["127.0.0.1:5000"]) as ring:
            print(ring.lookup("flights.JFK").owner)

    `trace`: a directory to leave lookup traces in. `patience_s`: how long a call is repeated before it fails. `cache`:
    whether an owner found in the last ten seconds is asked without a walk. `mode`: "iterative", or "recursive", for
    which the ring has to reach this process: it listens on `host`, where others know it as `advertise` (HOST[:PORT]).
    """

    def __init__(
        self,
        via: list[str],
        cluster: str = "ringcast",
        patience_s: float = 5.0,
        trace: Path | str | None = None,
        label: str = "client",
        cache: bool = False,
        mode: Mode | str = Mode.ITERATIVE,
        host: str = "127.0.0.1",
        advertise: str | None = None,
    ) -> None:
        if mode not in list(Mode):
            raise LocalProtocolError(f"a lookup is {' or '.join(Mode)}, not {mode!r}")
        check_cluster(cluster)
        for address in via:
            check_resolvable(address)
        self._kernel = Kernel(cluster, label, random.Random())
        self._context = make_context()
        router: Socket | None = None
        answer_at = ""
        try:
            if mode == Mode.RECURSIVE:
                router = make_socket(self._context, zmq.ROUTER)
                answer_at = advertised(host, bind(router, host, 0), advertise)
            self._ring = Ring(self._kernel, via, patience_s=patience_s, cache=cache, answer_at=answer_at)
            self._tracing = Tracing(trace, label, "its answers do not")
        except BaseException:
            self._context.destroy(linger=0)
            raise
        keep = self._tracing.append if self._tracing.on else None
        self._driver = ZmqDriver(self._context, self._kernel, router, keep)

    def lookup(self, name: str) -> Walk:
        """The owner of a name, with the path to it. Raises LookupFailed or InvalidName."""
        return self._wait(self._ring.locate(name))

    def put(self, name: str, entry: str, value: bytes, lease_s: float, version: int = 0, notify: str = "") -> Stored:
        """Store an entry under a name for `lease_s` seconds; version 0 lets the owner count on."""
        return self._wait(self._ring.put(name, entry, value, lease_s, version, notify))

    def get(self, name: str) -> list[Entry]:
        """The live entries under a name."""
        return self._wait(self._ring.get(name))

    def delete(self, name: str, entry: str) -> Stored:
        """Delete an entry."""
        return self._wait(self._ring.delete(name, entry))

    def members(self) -> list[Neighbours]:
        """The members in ring order, each with its own view of its neighbours."""
        return self._wait(self._ring.members())

    def run(self, ask: Callable[[Ring], Operation[R]]) -> R:
        """The result of whatever operation `ask` makes of the ring."""
        return self._wait(ask(self._ring))

    def close(self) -> None:
        """Close every socket, and the traces."""
        self._driver.close()
        self._context.destroy(linger=0)
        self._tracing.close()

    def __enter__(self) -> RingClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _wait(self, operation: Operation[R]) -> R:
        outcome = self._driver.start(operation)
        self._driver.run(lambda: outcome.done)
        self._tracing.flush_if_due()
        return outcome.value()
