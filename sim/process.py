"""A simulated process: moves frames between the network and a kernel, as chord/zmq_driver.py does over sockets."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import msgspec

from chord import wire
from chord.effects import Operation
from chord.errors import RemoteProtocolError
from chord.kernel import Emit, Kernel, Output, Respond, Send
from chord.limits import PROTOCOL_VERSION
from chord.messages import Reply
from chord.outcome import Outcome
from sim.network import Endpoint, Network
from sim.scheduler import Event, Scheduler

R = TypeVar("R")

Keep = Callable[[msgspec.Struct], None]


class Process:
    """Runs one kernel at one address. Frames are encoded and decoded just as between real processes."""

    def __init__(self, scheduler: Scheduler, network: Network, kernel: Kernel, keep: Keep) -> None:
        self.kernel = kernel
        self.crashed = False
        self._scheduler = scheduler
        self._network = network
        self._keep = keep
        self._endpoint = Endpoint(kernel.address, self._receive_request, self._receive_reply)
        self._wake: Event | None = None
        self._wake_at = 0.0
        self._paused: list[Callable[[], None]] | None = None
        kernel.now = scheduler.now
        network.attach(self._endpoint)

    def start(self, operation: Operation[R]) -> Outcome[R]:
        """Begin an operation now."""
        outcome: Outcome[R] = Outcome()
        self.kernel.now = self._scheduler.now
        self.kernel.start(operation, outcome.take)
        self._carry_out(self.kernel.take())
        return outcome

    def crash(self) -> None:
        """Stop at once: nothing is sent any more, and every operation is dropped where it is."""
        self.crashed = True
        self._network.detach(self._endpoint)
        if self._wake is not None:
            self._wake.cancel()
        self._paused = None

    def pause(self) -> None:
        """Do nothing until `resume`, while frames queue up: what a stopped or starved process does."""
        if self._paused is None:
            self._paused = []

    def resume(self) -> None:
        """Handle the frames that queued up, then whatever is overdue."""
        waiting, self._paused = self._paused or [], None
        for receive in waiting:
            if not self.crashed:
                receive()
        if self._wake is not None:
            self._wake.cancel()
        self._on_deadline()

    # Receiving -----------------------------------------------------------------------------------------------------

    def _receive_request(self, route: Endpoint, frame: bytes) -> None:
        if self._paused is not None:
            self._paused.append(partial(self._receive_request, route, frame))
            return
        try:
            request = wire.decode_request(frame)
        except RemoteProtocolError as error:
            self._respond(route, Reply(PROTOCOL_VERSION, wire.call_of(frame), wire.failure(error)))
            return
        self._carry_out(self.kernel.on_message(route, request, self._scheduler.now))

    def _receive_reply(self, frame: bytes) -> None:
        if self._paused is not None:
            self._paused.append(partial(self._receive_reply, frame))
            return
        try:
            reply = wire.decode_reply(frame)
        except RemoteProtocolError:
            return  # the call that it may have been meant for times out
        self._carry_out(self.kernel.on_message(None, reply, self._scheduler.now))

    def _on_deadline(self) -> None:
        self._wake = None
        if self._paused is None and not self.crashed:
            self._carry_out(self.kernel.on_timer(self._scheduler.now))

    # Sending -------------------------------------------------------------------------------------------------------

    def _carry_out(self, outputs: list[Output]) -> None:
        if self.crashed:
            return  # it crashed because of what it was just told
        for output in outputs:
            if type(output) is Send:
                self._network.request(self._endpoint, output.address, wire.encode(output.message))
            elif type(output) is Respond:
                self._respond(output.route, output.message)
            elif type(output) is Emit:
                self._keep(output.row)
        self._wake_at_deadline()

    def _respond(self, route: Endpoint, reply: Reply) -> None:
        self._network.reply(self._endpoint, route, wire.encode(reply))

    def _wake_at_deadline(self) -> None:
        deadline = self.kernel.deadline()
        if deadline is None or (self._wake is not None and self._wake_at <= deadline):
            return  # an earlier waking finds out by itself that nothing is due
        if self._wake is not None:
            self._wake.cancel()
        self._wake_at = deadline
        self._wake = self._scheduler.at(deadline, self._on_deadline)
