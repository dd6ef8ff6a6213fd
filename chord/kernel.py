"""The kernel: generators inside, events outside.

A driver feeds messages and the time in; the kernel steps the operations that waited for them and returns what is to be
sent. It does no I/O and reads no clock, so the same kernel runs over ZeroMQ and in the simulator.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from math import inf
from types import GeneratorType
from typing import Any

import msgspec

from chord import wire
from chord.driven import Emit, Output, Respond, Send, Then
from chord.effects import Call, Cast, Gather, Operation, Sleep, Spawn
from chord.errors import PeerUnreachable, RemoteProtocolError, RingcastError, WrongCluster
from chord.limits import PROTOCOL_VERSION
from chord.messages import (
    Arrived,
    Forward,
    Noted,
    Pointer,
    Reply,
    ReplyBody,
    Request,
    RequestBody,
    Serial,
    asks_others,
)
from chord.replies import Ready, Replies, Running, Waiting
from chord.round_trips import RoundTrips

STANDSTILL_S = 0.8
"""How late a process may be for what is due. Later than that others may have missed it, and taken what it owned."""

Serve = Callable[[Request], "ReplyBody | Operation[ReplyBody] | None"]


def _nobody(_request: Request) -> ReplyBody:
    raise RemoteProtocolError("this process answers no requests")


class Kernel:
    """Runs the operations of one process.

    `stood_still` is called before a turn that comes much too late: the process was stopped, or starved.
    `serve` answers a request with a reply, with an operation whose result is the reply, or not at all (None).
    `epoch_offset_s` is what the driver adds to the monotonic `now` for wall-clock time. Nothing is due before `due`,
    which costs less to ask than `deadline()` and may be the time-out of a call that was answered.
    """

    def __init__(self, cluster: str, address: str, rng: random.Random, serve: Serve = _nobody) -> None:
        self.cluster = cluster
        self.address = address
        self.rng = rng
        self.serve = serve
        self.now = 0.0
        self.due = inf
        self.epoch_offset_s = 0.0
        self.stood_still: Callable[[], None] = lambda: None
        self.round_trips = RoundTrips()
        self._outputs: list[Output] = []
        self._calls: dict[int, Waiting] = {}
        self._client = self._next_call = rng.getrandbits(32) + 1
        self._puts = 0
        self._timers: list[tuple[float, int, int | Running]] = []
        self._sequence = 0
        self._here: deque[Request] = deque()
        self._stepping = False
        self._ready: deque[Ready] = deque()
        self._replies = Replies(self._calls, self._ready, self.round_trips.lookups)

    # What drivers call ---------------------------------------------------------------------------------------------

    def start(self, operation: Operation[Any], then: Then | None = None) -> None:
        """Begin an operation; `then(result, error)` is called once when it ends. Collect the outputs with `take`."""
        self._ready.append((Running(operation, then), None, None))
        self._run()

    def on_message(self, source: Any, message: Request | Reply, now: float) -> list[Output]:
        """A message arrived: a request by route `source`, or a reply."""
        if now - self.now > STANDSTILL_S:
            self._after_a_gap(now)
        self.now = now
        if type(message) is Reply:
            self._replies.replied(message, now)
        else:
            assert type(message) is Request
            self._on_request(source, message)
        if self._ready or self._here:
            self._run()
        return self.take()

    def on_unsent(self, send: Send, now: float) -> list[Output]:
        """A step of a lookup was not sent, since the connection that there was to its address is broken.

        That proves nobody dead: a lookup passes over the peer, and whoever keeps the ring waits for time-outs.
        """
        self.now = now
        self.round_trips.peer(send.address).broke(now)
        body = send.message.body
        if type(body) is Forward:
            self.cast(body.asker, Arrived(body.token, None, body.path))
        elif (waiting := self._calls.pop(send.message.call, None)) is not None:
            error = PeerUnreachable(f"the connection to {send.address} is broken")
            self._ready.append((waiting.running, None, error))
        self._run()
        return self.take()

    def on_timer(self, now: float) -> list[Output]:
        """Time passed: end what is due."""
        if now - self.now > STANDSTILL_S:
            self._after_a_gap(now)
        self.now = now
        timers = self._timers
        while timers and timers[0][0] <= now:
            due = heappop(timers)[2]
            if isinstance(due, Running):
                self._ready.append((due, None, None))
            elif due in self._calls:
                self._replies.timed_out(due, now)
        self._run()
        self.deadline()
        return self.take()

    def _after_a_gap(self, now: float) -> None:
        due = self.deadline()
        self.now = now
        if due is not None and now - due > STANDSTILL_S:
            self.stood_still()

    def deadline(self) -> float | None:
        """When `on_timer` is wanted next, or None."""
        timers = self._timers
        while timers:
            when, _, due = timers[0]
            if isinstance(due, Running) or due in self._calls:
                self.due = when
                return when
            heappop(timers)  # the time-out of a call that was answered
        self.due = inf
        return None

    def take(self) -> list[Output]:
        """What is to be sent and kept since the last time."""
        outputs = self._outputs
        self._outputs = []
        return outputs

    def epoch_us(self, at: float) -> int:
        """The wall-clock time of a moment of this kernel's clock, in microseconds since the epoch."""
        return int((at + self.epoch_offset_s) * 1e6)

    def serial(self) -> Serial:
        """Names a put that this process is about to begin, all of its attempts."""
        self._puts += 1
        return self._client, self._puts

    def emit(self, row: msgspec.Struct) -> None:
        """Keep a trace row."""
        self._outputs.append(Emit(row))

    # Requests ------------------------------------------------------------------------------------------------------

    def _on_request(self, route: Any, request: Request) -> None:
        if request.cluster != self.cluster:
            error: RingcastError = WrongCluster(
                f"this process belongs to cluster {self.cluster!r}, the request to {request.cluster!r}"
            )
            self._answer(route, request, None, error)
            return
        if type(request.body) is Arrived:
            self._replies.arrived(request.body, self.now)
            self._answer(route, request, Noted(), None)
            return
        try:
            outcome = self.serve(request)
        except RingcastError as refusal:
            self._answer(route, request, None, refusal)
            return
        if type(outcome) is GeneratorType:
            running = Running(outcome, lambda result, error: self._answer(route, request, result, error))
            self._ready.append((running, None, None))
        elif outcome is not None:
            self._answer(route, request, outcome, None)

    def _answer(self, route: Any, request: Request, body: Any, error: RingcastError | None) -> None:
        call = request.call
        if call == 0:
            return
        reply = Reply(PROTOCOL_VERSION, call, body if error is None else wire.failure(error))
        if route is self:
            self._replies.replied(reply, self.now)
        else:
            self._outputs.append(Respond(route, reply))

    # Operations ----------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        """Step whatever is ready, and what that makes ready, until nothing is."""
        if self._stepping:
            return
        self._stepping = True
        ready, here = self._ready, self._here
        try:
            while True:
                while ready:
                    running, value, error = ready.popleft()
                    self._step(running, value, error)
                if not here:
                    return
                self._on_request(self, here.popleft())
        finally:
            self._stepping = False

    def _step(self, running: Running, value: Any, error: RingcastError | None) -> None:
        generator = running.generator
        while True:
            try:
                effect = generator.send(value) if error is None else generator.throw(error)
            except StopIteration as stop:
                if running.then is not None:
                    running.then(stop.value, None)
                return
            except RingcastError as failed:
                if running.then is not None:
                    running.then(None, failed)
                return
            if type(effect) is Call:
                self._call(running, effect)
                return
            if type(effect) is Sleep:
                self._at(self.now + max(0.0, effect.seconds), running)
                return
            value = error = None
            if type(effect) is Cast:
                self.cast(effect.to, effect.request)
            elif type(effect) is Spawn:
                self._ready.append((Running(effect.operation, None), None, None))
            elif type(effect) is Gather:
                if effect.operations:
                    self._gather(running, effect.operations)
                    return
                value = []
            else:
                code = getattr(generator, "gi_code", None)
                frame = getattr(generator, "gi_frame", None)
                raise TypeError(
                    f"operation {getattr(code, 'co_qualname', generator)} yielded {effect!r} "
                    f"at line {getattr(frame, 'f_lineno', '?')}; only Call, Cast, Sleep, Gather and Spawn are effects"
                )

    def cast(self, to: Pointer | str, body: RequestBody, answered_elsewhere: bool = False) -> None:
        """Send a request that is not answered, at most by a cast of somebody else (`answered_elsewhere`)."""
        # A pointer with incarnation 0 means whichever member of that process fits.
        meant = None
        if isinstance(to, str):
            address = to
        else:
            address = to.address
            if to.incarnation:
                meant = (to.id, to.incarnation)
        request = Request(PROTOCOL_VERSION, self.cluster, 0, body, meant)
        if address == self.address:
            self._here.append(request)
        else:
            self._outputs.append(Send(address, request, answered_elsewhere))

    def _call(self, running: Running, effect: Call) -> None:
        if effect.token:
            self._ask(running, effect)
            return
        call = self._next_call
        self._next_call = call + 1
        to = effect.to
        address = to.address
        body = effect.request
        now = self.now
        peer = self.round_trips.peer(address)
        asking = asks_others(body)
        # Whoever has to ask others in its turn is given a round trip more.
        timeout_s = peer.timeout_s(effect.attempt + asking)
        self._calls[call] = Waiting(running, to, None if asking else peer, body.reply, now, timeout_s)
        self._at(now + timeout_s, call)
        meant = (to.id, to.incarnation) if to.incarnation else None
        request = Request(PROTOCOL_VERSION, self.cluster, call, body, meant)
        if address != self.address or effect.outward:
            self._outputs.append(Send(address, request))
        else:
            self._here.append(request)

    def _ask(self, running: Running, effect: Call) -> None:
        """Cast a request whose answer comes from somebody else."""
        lookups = self.round_trips.lookups
        timeout_s = lookups.timeout_s(effect.attempt)
        self._calls[effect.token] = Waiting(running, effect.to, lookups, Arrived, self.now, timeout_s)
        self._at(self.now + timeout_s, effect.token)
        self.cast(effect.to, effect.request, answered_elsewhere=True)

    def _gather(self, running: Running, operations: list[Operation[Any]]) -> None:
        results: list[Any] = [None] * len(operations)
        left = len(operations)

        def finished(index: int) -> Then:
            def then(result: Any, error: RingcastError | None) -> None:
                nonlocal left
                results[index] = result if error is None else error
                left -= 1
                if left == 0:
                    self._ready.append((running, results, None))

            return then

        for index, operation in enumerate(operations):
            self._ready.append((Running(operation, finished(index)), None, None))

    def _at(self, when: float, what: int | Running) -> None:
        self._sequence = sequence = self._sequence + 1
        heappush(self._timers, (when, sequence, what))
        if when < self.due:
            self.due = when
