"""The thread that owns a client's sockets, so that an application that is busy loses nothing.

One for each Publisher, Subscriber and broker. The application wakes it through a pipe, and only when it sleeps.
"""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import zmq

from chord.addresses import advertised, check_resolvable
from chord.asking import Ring
from chord.effects import Operation
from chord.errors import LocalProtocolError, RemoteProtocolError, RingcastError
from chord.kernel import Kernel
from chord.messages import Changed, Entry, Noted, ReplyBody, Request
from chord.names import check_cluster
from chord.outcome import Outcome
from chord.sockets import Context, Socket, bind, make_context, make_socket
from chord.tracing import Tracing
from chord.zmq_driver import ZmqDriver
from pubsub.gate import Gate
from pubsub.registration import WITHDRAW_S

R = TypeVar("R")

SLEEP_S = 0.1
"""The longest that the thread sleeps; heartbeats, acknowledgements and leases are looked after this often."""

LINGER_MS = 500
"""How long a context that ends waits for what was sent to leave."""


class IoThread:
    """Runs a kernel and its sockets in a thread of its own.

    `begin()` is called once before the thread starts, to watch sockets. `work(now)` is called in the thread after
    everything that arrived and every 0.1 s, and says whether there is more to do at once. `finish()` is called once at
    the end and returns the operations to end with. `died()` is called in the thread when an error has ended it, before
    its sockets are closed. `changed` hears of changes to the records that notify this client;
    only with it does the client answer the ring at all. `warn` takes what a person should know; by default that is
    logged, which writes it to stderr unless the application configures logging.
    """

    def __init__(
        self,
        name: str,
        via: list[str],
        cluster: str,
        patience_s: float,
        trace: Path | str | None = None,
        on_warning: Callable[[str], None] | None = None,
    ) -> None:
        check_cluster(cluster)
        for address in via:
            check_resolvable(address)
        self.name = name
        self.warn = on_warning or logging.getLogger("ringcast").warning
        self.rng = random.Random()
        self.kernel = Kernel(cluster, name, self.rng, self._serve)
        self.ring = Ring(self.kernel, via, patience_s=patience_s, cache=True)
        self.tracing = Tracing(trace, name, "samples go on")
        self.context: Context = make_context()
        self.driver: ZmqDriver
        self.gate = Gate()
        self.failure: BaseException | None = None
        self.idle = False
        self.begin: Callable[[], None] = lambda: None
        self.work: Callable[[float], bool] = _nothing
        self.finish: Callable[[], list[Operation[Any]]] = list
        self.died: Callable[[], None] = lambda: None
        self.changed: Callable[[Entry], None] | None = None
        self._commands: deque[Callable[[], None]] = deque()
        self._read_end, self._write_end = os.pipe()
        os.set_blocking(self._read_end, False)
        os.set_blocking(self._write_end, False)
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name=f"ringcast {name}", daemon=True)

    def bind_router(self, host: str, port: int, advertise: str | None) -> tuple[Socket, str, int]:
        """A bound ROUTER that reports peers it cannot reach, its address for others, and its port.

        Raises LocalProtocolError.
        """
        router = make_socket(self.context, zmq.ROUTER)
        router.setsockopt(zmq.ROUTER_MANDATORY, 1)
        try:
            port = bind(router, host, port)
            return router, advertised(host, port, advertise), port
        except LocalProtocolError:
            self.abandon()
            raise

    def abandon(self) -> None:
        """Give back what an instance holds that is never started."""
        self.context.destroy(linger=0)
        os.close(self._read_end)
        os.close(self._write_end)
        self.tracing.close()

    def start(self, ring_router: Socket | None = None) -> None:
        """Begin. From here on only this thread touches sockets, but for what pubsub/publishing.py has the
        application send under a lock.

        `ring_router` is where the ring reaches us.
        """
        keep = self.tracing.append if self.tracing.on else None
        self.driver = ZmqDriver(self.context, self.kernel, ring_router, keep)
        self.driver.watch(self._read_end, self._drain)
        self.begin()
        self._thread.start()

    def post(self, command: Callable[[], None]) -> None:
        """Have the thread call `command`. Called by the application."""
        self._commands.append(command)
        self.wake()

    def wake(self) -> None:
        """Have the thread look for work. Called by the application."""
        self.idle = False
        try:
            os.write(self._write_end, b"\0")
        except BlockingIOError:
            return  # it has been woken often enough

    def wait(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        """Sleep until a condition holds that the thread brings about; False when it did not within the time.

        A negative time is for ever. Raises what ended the thread. Called by the application.
        """
        deadline = time.monotonic() + timeout_s
        gate = self.gate
        while True:
            gate.prepare()
            if condition():
                return True
            self.check()
            left_s = -1.0
            if timeout_s >= 0:
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    return False
            gate.wait(left_s)

    def run(self, ask: Callable[[Ring], Operation[R]]) -> R:
        """The result of whatever operation `ask` makes of the ring. Raises its error, and what ended the thread.

        Called by the application, and waits.
        """
        outcome: Outcome[R] = Outcome(lambda _result, _error: self.gate.open())
        self.post(lambda: self._start(ask(self.ring), outcome))
        self.wait(lambda: outcome.done, -1.0)
        return outcome.value()

    def stop(self) -> None:
        """Take the entries off the ring, close every socket, and end the thread. Raises what ended it before."""
        self._stopping = True
        self.wake()
        self._thread.join()
        os.close(self._read_end)
        os.close(self._write_end)
        self.check()

    def check(self) -> None:
        """Raise what ended the thread, if anything did."""
        if self.failure is not None:
            raise AssertionError(f"the I/O thread of {self.name} ended: {self.failure!r}") from self.failure

    # In the thread -------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not self._stopping:
                self._turn()
            self._end(self.finish())
        except Exception as failure:
            self.failure = failure
            self.idle = False
            self.died()
            self.gate.open()
        finally:
            self.driver.close()
            self.context.destroy(linger=LINGER_MS)
            self.tracing.close()

    def _turn(self) -> None:
        busy = self.work(time.monotonic())
        while self._commands:
            self._commands.popleft()()
            busy = True
        if not busy:
            # Whoever adds work from now on wakes us; whoever did before is seen by this second look.
            self.idle = True
            busy = self.work(time.monotonic()) or bool(self._commands)
        self.driver.turn(0 if busy else SLEEP_S)
        self.idle = False
        self.tracing.flush_if_due()

    def _end(self, operations: list[Operation[Any]]) -> None:
        left = len(operations)

        def then(_result: Any, _error: RingcastError | None) -> None:
            nonlocal left
            left -= 1

        for operation in operations:
            self.driver.start(operation, then)
        deadline = time.monotonic() + WITHDRAW_S
        while left and time.monotonic() < deadline:
            self.driver.turn(min(SLEEP_S, max(0.0, deadline - time.monotonic())))

    def _start(self, operation: Operation[R], outcome: Outcome[R]) -> None:
        self.driver.start(operation, outcome.take)

    def _drain(self) -> None:
        try:
            os.read(self._read_end, 4096)
        except BlockingIOError:
            return

    def _serve(self, request: Request) -> ReplyBody:
        if self.changed is None or not isinstance(request.body, Changed):
            raise RemoteProtocolError("this process is no ring node")
        self.changed(request.body.entry)
        return Noted()


def _nothing(_now: float) -> bool:
    return False
