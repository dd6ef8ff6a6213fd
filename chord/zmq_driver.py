"""The ZeroMQ driver: one thread, one blocking poll loop, a ROUTER to serve with and connections to call with.

A message is [routing id ...] [body]; whatever comes before the body is echoed, so that a plain REQ socket of any
language, with its empty delimiter, is answered as well as our own DEALERs, which send the body alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from os import sched_yield
from typing import Any, TypeVar

import msgspec
import zmq
from zmq import zmq_poll

from chord import wire
from chord.connections import Connections
from chord.driven import Driven, Emit, Output, Respond, Send, Then
from chord.effects import Operation
from chord.errors import RemoteProtocolError
from chord.limits import MAX_FRAMES, PROTOCOL_VERSION
from chord.messages import Reply
from chord.outcome import Outcome
from chord.sockets import NOBLOCK, NOBLOCK_MORE, POLLIN, POLLOUT, RCVMORE, Context, Socket
from chord.unread import LARGE, Unread

R = TypeVar("R")

LOOK_S = 0.0002
"""How long a reply is looked for before the thread goes to sleep; most come within half of it."""

LOOK_ELSEWHERE_S = 0.0006
"""The same for the answer to a recursive lookup, which has passed several processes before it is here."""

IDLE_S = 1.0
SWEEP_S = 5.0
"""Pause between looks for connections that nobody needs."""

monotonic = time.monotonic


class ZmqDriver:
    """Moves messages between sockets and a kernel, and traces to `keep`.

    `router` is bound by the caller, or None for a process that only asks. Other sockets of the same thread are added
    with `watch`.
    """

    def __init__(
        self,
        context: Context,
        kernel: Driven,
        router: Socket | None = None,
        keep: Callable[[msgspec.Struct], None] | None = None,
    ) -> None:
        self._kernel = kernel
        self._router = router
        self._keep = keep
        self._unread = Unread()
        self._swept_at = self._look_until = 0.0
        self._watched: dict[Socket | int, Callable[[], None]] = {}
        self._interest: dict[Any, int] = {}
        self._connections = Connections(context, self._interest)
        if router is not None:
            self._interest[router] = POLLIN
        kernel.now = monotonic()
        kernel.epoch_offset_s = time.time() - kernel.now

    def watch(self, socket: Socket | int, readable: Callable[[], None]) -> None:
        """Call `readable` whenever a socket, or a file descriptor, of this thread has something to read."""
        self._watched[socket] = readable
        self._interest[socket] = POLLIN

    def unwatch(self, socket: Socket | int) -> None:
        """Stop watching a socket or a descriptor."""
        if self._watched.pop(socket, None) is not None:
            del self._interest[socket]

    def start(self, operation: Operation[R], then: Then | None = None) -> Outcome[R]:
        """Begin an operation in the kernel, at the time of now; `then(result, error)` is called when it ends."""
        outcome: Outcome[R] = Outcome(then)
        self._kernel.now = monotonic()
        self._kernel.start(operation, outcome.take)
        self._carry_out(self._kernel.take())
        return outcome

    def run(self, until: Callable[[], bool]) -> None:
        """Turn until `until()` holds."""
        while not until():
            self.turn(IDLE_S)

    def turn(self, at_most_s: float) -> None:
        """Wait for messages or the next deadline, at most so long, and handle what came."""
        kernel = self._kernel
        deadline = kernel.deadline()
        wait_s = at_most_s
        if deadline is not None and (left_s := deadline - monotonic()) < at_most_s:
            wait_s = left_s
        for socket, events in self._poll(wait_s):
            if socket is self._router:
                self._serve()
            elif socket in self._watched:
                self._watched[socket]()
                self._carry_out(kernel.take())
            else:
                self._from_peer(socket, events)
        if deadline is not None:
            now = monotonic()
            if deadline <= now:
                self._carry_out(kernel.on_timer(now))
            if now - self._swept_at >= SWEEP_S:
                self._swept_at = now
                self._connections.sweep(now)

    def _poll(self, wait_s: float) -> list[tuple[Any, int]]:
        """The sockets on which something happens within the time, and what.

        For a moment after a request this looks again and again, and lets others run in between: to go to sleep and be
        woken would take half as long as the reply.
        """
        interest = list(self._interest.items())
        if wait_s > 0:
            look_until = self._look_until
            while monotonic() < look_until:
                if ready := zmq_poll(interest, 0):
                    return ready
                sched_yield()
        # Rounded up: a poll that ends before the deadline would spin.
        return zmq_poll(interest, int(wait_s * 1000) + 1 if wait_s > 0 else 0)

    def close(self) -> None:
        """Close every socket to a peer."""
        self._connections.close()

    # Receiving -----------------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        assert self._router is not None
        router = self._router
        try:
            route = [router.recv(NOBLOCK)]
        except zmq.Again:
            return
        body = router.recv(NOBLOCK)  # libzmq delivers a message whole or not at all
        while router.get(RCVMORE):
            if len(route) < MAX_FRAMES:
                route.append(body)
            body = router.recv(NOBLOCK)
        try:
            request = wire.decode_request(body)
        except RemoteProtocolError as error:
            self._respond(route, Reply(PROTOCOL_VERSION, wire.call_of(body), wire.failure(error)))
            return
        self._carry_out(self._kernel.on_message(route, request, monotonic()))

    def _from_peer(self, socket: Socket, events: int) -> None:
        connections = self._connections
        connection = connections.by_socket.get(socket)
        if connection is None:
            return  # closed earlier in this turn, for one more peer
        if events & POLLOUT:
            connections.send_backlog(connection)
        if not events & POLLIN:
            return
        try:
            # A reply is one frame. Of a peer that sends more, each is read as a reply of its own, and is none.
            frame = socket.recv(NOBLOCK)
        except zmq.Again:
            return
        try:
            reply = wire.decode_reply(frame)
        except RemoteProtocolError:
            return  # the call that it may have been meant for times out
        if connection.awaited.pop(reply.call, None) is None:
            return  # repeated, unasked, or an answer in another peer's name
        if not connection.awaited:
            connections.poll_for(connection)
        self._carry_out(self._kernel.on_message(None, reply, monotonic()))

    # Sending -------------------------------------------------------------------------------------------------------

    def _carry_out(self, outputs: list[Output]) -> None:
        unsent: list[Send] = []
        for output in outputs:
            if type(output) is Send:
                now = self._kernel.now
                if not self._connections.send(output, now):
                    unsent.append(output)
                elif output.message.call:
                    self._look_until = now + LOOK_S
                elif output.answered_elsewhere:
                    self._look_until = now + LOOK_ELSEWHERE_S
            elif type(output) is Respond:
                self._respond(output.route, output.message)
            elif type(output) is Emit and self._keep is not None:
                self._keep(output.row)
        for send in unsent:
            self._carry_out(self._kernel.on_unsent(send, monotonic()))

    def _respond(self, route: list[bytes], reply: Reply) -> None:
        assert self._router is not None
        router = self._router
        frame = wire.encode(reply)
        try:
            if len(frame) >= LARGE:
                self._unread.send(router, route, frame)
                return
            for part in route:
                router.send(part, NOBLOCK_MORE)
            router.send(frame, NOBLOCK)
        except zmq.ZMQError:
            return  # a peer that does not read its replies loses them
