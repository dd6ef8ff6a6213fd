"""A simulated process: moves frames between the network and a kernel, as chord/zmq_driver.py does over sockets."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from typing import TypeVar

import msgspec

from chord.driven import Emit, Output, Respond, Send
from chord.effects import Operation
from chord.errors import RemoteProtocolError
from chord.kernel import Kernel
from chord.limits import PROTOCOL_VERSION
from chord.messages import Reply
from chord.outcome import Outcome
from chord.wire import call_of, decode_reply, decode_request, encode, failure
from sim.network import Endpoint, Network
from sim.scheduler import Event, Scheduler

R = TypeVar("R")

Keep = Callable[[msgspec.Struct], None]


class Process:
    """Runs one kernel at one address. Frames are encoded and decoded just as between real processes.

    Its clock shows `rate` times the virtual time, plus `offset_s`: no two machines agree on how long a second is.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        network: Network,
        kernel: Kernel,
        keep: Keep,
        rate: float = 1.0,
        offset_s: float = 0.0,
    ) -> None:
        self.kernel = kernel
        self.crashed = False
        self._scheduler = scheduler
        self._network = network
        self._keep = keep
        self._endpoint = Endpoint(kernel.address, self._receive_request, self._receive_reply)
        self._rate = rate
        self._offset_s = offset_s
        self._wake: Event | None = None
        self._wake_at = inf
        self._paused: list[Callable[[], None]] | None = None
        kernel.now = self._clock()
        if offset_s:
            kernel.epoch_offset_s = scheduler.now - kernel.now  # its wall clock is right when it starts
        network.attach(self._endpoint)

    def start(self, operation: Operation[R]) -> Outcome[R]:
        """Begin an operation now."""
        outcome: Outcome[R] = Outcome()
        self.kernel.now = self._clock()
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
        self._wake, self._wake_at = None, inf
        if not self.crashed:
            self._carry_out(self.kernel.on_timer(self._clock()))

    # Receiving -----------------------------------------------------------------------------------------------------

    def _receive_request(self, route: Endpoint, frame: bytes) -> None:
        if self._paused is not None:
            self._paused.append(partial(self._receive_request, route, frame))
            return
        try:
            request = decode_request(frame)
        except RemoteProtocolError as error:
            refusal = Reply(PROTOCOL_VERSION, call_of(frame), failure(error))
            self._network.reply(self._endpoint, route, encode(refusal))
            return
        now = self._scheduler.now * self._rate + self._offset_s
        self._carry_out(self.kernel.on_message(route, request, now))

    def _receive_reply(self, _route: None, frame: bytes) -> None:
        if self._paused is not None:
            self._paused.append(partial(self._receive_reply, None, frame))
            return
        try:
            reply = decode_reply(frame)
        except RemoteProtocolError:
            return  # the call that it may have been meant for times out
        now = self._scheduler.now * self._rate + self._offset_s
        self._carry_out(self.kernel.on_message(None, reply, now))

    def _on_deadline(self) -> None:
        # What rounding takes from the clock must not keep the deadline from having come.
        now = max(self._clock(), self._wake_at)
        self._wake, self._wake_at = None, inf
        if self._paused is None and not self.crashed:
            deadline = self.kernel.deadline()
            if deadline is not None and deadline <= now:
                self._carry_out(self.kernel.on_timer(now))
            else:
                self._sleep()  # what was to be timed out has been answered

    # Sending -------------------------------------------------------------------------------------------------------

    def _carry_out(self, outputs: list[Output]) -> None:
        if self.crashed:
            return  # it crashed because of what it was just told
        for output in outputs:
            if type(output) is Send:
                self._network.request(self._endpoint, output.address, encode(output.message))
            elif type(output) is Respond:
                self._network.reply(self._endpoint, output.route, encode(output.message))
            elif type(output) is Emit:
                self._keep(output.row)
        if self.kernel.due < self._wake_at:
            self._sleep()

    def _sleep(self) -> None:
        """Be woken when something is due."""
        due = self.kernel.due
        if due < self._wake_at:  # an earlier waking finds out by itself that nothing is due
            if self._wake is not None:
                self._wake.cancel()
            self._wake_at = due
            self._wake = self._scheduler.at((due - self._offset_s) / self._rate, self._on_deadline)

    def _clock(self) -> float:
        """The time that this process's clock shows."""
        return self._scheduler.now * self._rate + self._offset_s
