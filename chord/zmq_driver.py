"""The ZeroMQ driver: one thread, one blocking poll loop, a ROUTER to serve with and a DEALER per peer to call with.

A message is [routing id ...] [body]; whatever comes before the body is echoed, so that a plain REQ socket of any
language, with its empty delimiter, is answered as well as our own DEALERs, which send the body alone.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from os import sched_yield
from typing import Any, TypeVar

import msgspec
import zmq
from zmq import zmq_poll

from chord import wire
from chord.backlog import Backlog, Waiting
from chord.driven import LOOKUP_STEPS, Driven, Emit, Output, Respond, Send, Then
from chord.effects import Operation
from chord.errors import LocalProtocolError, RemoteProtocolError
from chord.limits import MAX_FRAMES, PROTOCOL_VERSION
from chord.messages import Reply
from chord.outcome import Outcome
from chord.sockets import Context, Socket, endpoint, make_socket
from chord.unread import LARGE, Unread

R = TypeVar("R")

MAX_PEERS = 512
"""Peers with an open socket; the least recently used idle one is closed first."""

LOOK_S = 0.0002
"""How long a reply is looked for before the thread goes to sleep; most come within half of it."""

LOOK_ELSEWHERE_S = 0.0006
"""The same for the answer to a recursive lookup, which has passed several processes before it is here."""

BACKLOG_S = 1.0
IDLE_S = 1.0
FORGET_REPLIES_S = 5.0
"""A reply that has not come after this long is not polled for any more."""

UNREACHABLE_S = 30.0
"""A socket that nothing could be sent by, nor was to be for this long, is closed: it would try to connect for ever."""

UNACKNOWLEDGED_MS = 5_000
"""A connection on which nothing arrives for this long is made anew. TCP waits twice as long before each repetition, so
that after a minute without a network it would be silent for most of another."""

# As plain integers: arithmetic on pyzmq's enumerations costs a microsecond each time.
POLLIN = int(zmq.POLLIN)
POLLOUT = int(zmq.POLLOUT)
NOBLOCK = int(zmq.NOBLOCK)
NOBLOCK_MORE = int(zmq.NOBLOCK) | int(zmq.SNDMORE)
RCVMORE = int(zmq.RCVMORE)
EVENTS = int(zmq.EVENTS)

monotonic = time.monotonic


class _Peer:
    """The DEALER to one peer, what waits for its connection, and the calls whose replies are due, with their times.

    `reached`: something was sent to it. When nothing can be sent any more, its connection is broken. `used_at`: when
    something was to be sent last.
    """

    __slots__ = ("awaited", "backlog", "reached", "socket", "used_at")

    def __init__(self, socket: Socket, waiting: Waiting) -> None:
        self.socket = socket
        self.used_at = 0.0
        self.backlog = Backlog(waiting)
        self.awaited: dict[int, float] = {}
        self.reached = False


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
        self._context = context
        self._kernel = kernel
        self._router = router
        self._keep = keep
        self._peers: OrderedDict[str, _Peer] = OrderedDict()
        self._by_socket: dict[Socket, _Peer] = {}
        self._waiting = Waiting()
        self._unread = Unread()
        self._swept_at = self._look_until = 0.0
        self._watched: dict[Socket | int, Callable[[], None]] = {}
        self._interest: dict[Any, int] = {}
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
            if now - self._swept_at >= FORGET_REPLIES_S:
                self._sweep(now)

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
        for address in list(self._peers):
            self._close_peer(address)

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
        peer = self._by_socket.get(socket)
        if peer is None:
            return  # closed earlier in this turn, for one more peer
        if events & POLLOUT:
            self._send_backlog(peer)
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
        if peer.awaited.pop(reply.call, None) is None:
            return  # repeated, unasked, or an answer in another peer's name
        if not peer.awaited:
            self._poll_for(peer)
        self._carry_out(self._kernel.on_message(None, reply, monotonic()))

    # Sending -------------------------------------------------------------------------------------------------------

    def _carry_out(self, outputs: list[Output]) -> None:
        unsent: list[Send] = []
        for output in outputs:
            if type(output) is Send:
                if not self._send(output):
                    unsent.append(output)
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

    def _send(self, output: Send) -> bool:
        """Send a request, or have it wait for a connection; False: a step of a lookup whose peer's connection broke."""
        address, message = output.address, output.message
        peer = self._peers.get(address)
        if peer is None:
            try:
                peer = self._open_peer(address, needed=message.call != 0 or output.answered_elsewhere)
            except (LocalProtocolError, zmq.ZMQError):
                return True  # an address that cannot be connected to: the call times out
            if peer is None:
                return True
        else:
            self._peers.move_to_end(address)
        peer.used_at = self._kernel.now
        frame = wire.encode(message)
        sent = False
        if not peer.backlog:
            try:
                peer.socket.send(frame, NOBLOCK)
                sent = peer.reached = True
            except zmq.Again:
                pass
        if not sent:
            if peer.reached and isinstance(message.body, LOOKUP_STEPS):
                return False
            peer.backlog.add(frame, monotonic())  # or else the call times out
        if message.call:
            now = peer.awaited[message.call] = self._kernel.now
            self._look_until = now + LOOK_S
        elif output.answered_elsewhere:
            self._look_until = self._kernel.now + LOOK_ELSEWHERE_S
        self._poll_for(peer)
        return True

    def _poll_for(self, peer: _Peer) -> None:
        """Poll a peer's socket for just what is due from it: an idle socket in the poll set costs every turn."""
        wanted = (POLLIN if peer.awaited else 0) | (POLLOUT if peer.backlog else 0)
        if wanted:
            self._interest[peer.socket] = wanted
        else:
            self._interest.pop(peer.socket, None)

    def _sweep(self, now: float) -> None:
        """Give up on replies that have been due for long, and on sockets to those who are gone or never were."""
        self._swept_at = now
        oldest = now - FORGET_REPLIES_S
        for address, peer in list(self._peers.items()):
            overdue = [call for call, sent_at in peer.awaited.items() if sent_at < oldest]
            for call in overdue:
                del peer.awaited[call]
            if peer.backlog and peer.backlog.last_at() < oldest:
                peer.backlog.clear()
            if not peer.awaited and not peer.backlog and (overdue or self._unreachable(peer, now)):
                self._close_peer(address)  # its name may lead elsewhere by now
            else:
                self._poll_for(peer)

    def _unreachable(self, peer: _Peer, now: float) -> bool:
        """Whether a peer has no connection, and nobody has wanted one for a while."""
        return now - peer.used_at >= UNREACHABLE_S and not int(peer.socket.get(EVENTS)) & POLLOUT

    def _send_backlog(self, peer: _Peer) -> None:
        oldest = monotonic() - BACKLOG_S
        while peer.backlog:
            queued_at, frame = peer.backlog.first()
            if queued_at >= oldest:
                try:
                    peer.socket.send(frame, NOBLOCK)
                    peer.reached = True
                except zmq.Again:
                    return
            peer.backlog.drop_first()
        self._poll_for(peer)

    def _open_peer(self, address: str, needed: bool) -> _Peer | None:
        """Connect to an address; None when that would take the socket of a call and is not `needed`, as for a cast."""
        target = endpoint(address)
        if len(self._peers) >= MAX_PEERS:
            least = self._dispensable()
            if least is None and not needed:
                return None
            self._close_peer(least or next(iter(self._peers)))
        socket = make_socket(self._context, zmq.DEALER)
        socket.setsockopt(zmq.TCP_MAXRT, UNACKNOWLEDGED_MS)
        try:
            socket.connect(target)
        except zmq.ZMQError:
            socket.close(linger=0)
            raise
        peer = self._peers[address] = self._by_socket[socket] = _Peer(socket, self._waiting)
        return peer

    def _dispensable(self) -> str | None:
        """The peer used least recently of those that nothing is due from or to, or else of those that only casts wait
        for; None if a reply is due from every one.
        """
        casts_only = None
        for address, peer in self._peers.items():
            if not peer.awaited:
                if not peer.backlog:
                    return address
                casts_only = casts_only or address
        return casts_only

    def _close_peer(self, address: str) -> None:
        peer = self._peers.pop(address)
        peer.backlog.clear()
        del self._by_socket[peer.socket]
        self._interest.pop(peer.socket, None)
        peer.socket.close(linger=0)
