"""A ring node as a process: binds, joins, serves until it is told to stop, and leaves."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import zmq

from chord.addresses import advertised, check_resolvable
from chord.driven import Driven
from chord.effects import Operation
from chord.errors import LookupFailed
from chord.host import Host
from chord.messages import Neighbours
from chord.own_address import leads_here, same_place
from chord.recording import RecordedKernel, Recording, described
from chord.settings import Settings
from chord.sockets import bind, make_context, make_socket
from chord.trace import EventTrace
from chord.tracing import Tracing
from chord.zmq_driver import ZmqDriver

R = TypeVar("R")

JOIN_PATIENCE_S = 30.0
SLOW_S = 1.0
"""After this long a node that has not joined yet says so."""

LEAVE_PATIENCE_S = 4.0
TURN_S = 0.2
"""The longest that a stop request goes unnoticed."""


@dataclass
class NodeOptions:
    """Where a node listens, what it calls itself, and whom it joins."""

    host: str = "127.0.0.1"
    port: int = 0
    advertise: str | None = None
    bootstrap: list[str] = field(default_factory=list)
    vnodes: int = 1
    trace: Path | None = None
    record: Path | None = None
    settings: Settings = field(default_factory=Settings)


class NodeProcess:
    """One `dht join`. `stop()` may be called from a signal handler."""

    def __init__(self, options: NodeOptions) -> None:
        for address in options.bootstrap:
            check_resolvable(address)
        self._options = options
        self._stopping = False
        self._context = make_context()
        try:
            router = make_socket(self._context, zmq.ROUTER)
            port = bind(router, options.host, options.port)
            self.address = advertised(options.host, port, options.advertise)
            self._bootstrap = [
                each
                for each in options.bootstrap
                if not leads_here(each, options.host, port) and not same_place(each, self.address)
            ]
            seed = random.SystemRandom().getrandbits(64)
            self.host = Host(options.settings, self.address, options.vnodes, random.Random(seed))
            self._tracing = Tracing(options.trace, f"node-{self.address}", "the node goes on")
            self._recording = None
            kernel: Driven = self.host.kernel
            if options.record is not None:
                first = described(options.settings, self.address, options.vnodes, seed)
                self._recording = Recording(options.record, first)
                kernel = RecordedKernel(self.host.kernel, self._recording.append)
        except BaseException:
            self._context.destroy(linger=0)
            raise
        keep = self._tracing.append if self._tracing.on else None
        self._driver = ZmqDriver(self._context, kernel, router, keep)
        self._event("bound", f"port {port}")

    def stop(self) -> None:
        """Ask the process to leave the ring."""
        self._stopping = True

    def run(self, ready: Callable[[list[Neighbours]], None], say: Callable[[str], None] = lambda _text: None) -> None:
        """Join, call `ready` with the members found by a walk, serve, and leave when stopped.

        `say` is given a sentence for people when joining is not as it was meant or takes its time, and when records
        are lost by leaving.
        """
        try:
            self._join(say)
            while not self._stopping:
                try:
                    members = self._finish("walking the ring", self.host.walk(), JOIN_PATIENCE_S)
                except LookupFailed as error:
                    say(f"{error}; trying again")
                    continue
                if members is not None:
                    self._event("ready", f"{len(members)} members")
                    try:
                        ready(members)
                    except OSError:  # nobody can be told; the ring has taken it in all the same
                        self._leave(say)
                        raise
                break
            while not self._stopping:
                self._driver.turn(TURN_S)
                self._tracing.flush_if_due()
            self._leave(say)
        finally:
            self._driver.close()
            self._context.destroy(linger=200)
            self._tracing.close()
            if self._recording is not None:
                self._recording.close()

    def _join(self, say: Callable[[str], None]) -> None:
        if self._options.advertise:
            self._finish("asking for itself", self.host.require_address(), JOIN_PATIENCE_S)
        if self._options.bootstrap and not self._bootstrap:
            say(f"every --bootstrap is {self.address} itself, which starts a ring of its own")
        trying = f"{self.address} is still trying to join through {', '.join(self._bootstrap)}"
        try:
            self._finish(
                "joining",
                self.host.boot(self._bootstrap, JOIN_PATIENCE_S),
                JOIN_PATIENCE_S + 5.0,
                slow=lambda: say(trying),
            )
        except LookupFailed as error:
            raise LookupFailed(f"{error}; the first node of a ring is started without --bootstrap") from None

    def _leave(self, say: Callable[[str], None]) -> None:
        """Hand over, as far as that goes in a few seconds: whoever stops a node does not wait for dead neighbours."""
        try:
            lost = self._finish("leaving", self.host.leave(), LEAVE_PATIENCE_S, stoppable=False)
        except LookupFailed as error:
            lost = str(error)
            self._event("left", lost)
        if lost:
            why = lost.removeprefix(f"{self.address}: ")
            say(f"{self.address} left before others had taken all of its records: {why}")

    def _finish(
        self,
        what: str,
        operation: Operation[R],
        patience_s: float,
        stoppable: bool = True,
        slow: Callable[[], None] | None = None,
    ) -> R | None:
        """Turn until an operation ends or, if `stoppable`, a stop is asked for (None); call `slow` once after a second.

        Raises LookupFailed when the patience is over.
        """
        outcome = self._driver.start(operation)
        began = time.monotonic()
        while not outcome.done and not (stoppable and self._stopping) and time.monotonic() < began + patience_s:
            self._driver.turn(TURN_S)
            if slow is not None and not outcome.done and time.monotonic() > began + SLOW_S:
                slow()
                slow = None
        if outcome.done:
            return outcome.value()
        if stoppable and self._stopping:
            return None
        raise LookupFailed(f"{self.address}: {what} took longer than {patience_s:.0f} s")

    def _event(self, kind: str, detail: str) -> None:
        if self._tracing.on:
            node = self.host.members[0].me.id
            now_us = time.time_ns() // 1000
            self._tracing.append(EventTrace(kind=kind, node=node, address=self.address, at_us=now_us, detail=detail))
