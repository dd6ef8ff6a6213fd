"""The connections to peers: a DEALER to each, made when something is to be sent, and closed when nobody needs it."""

from __future__ import annotations

from collections import OrderedDict
from time import monotonic
from typing import Any

import zmq

from chord import wire
from chord.addresses import endpoint
from chord.backlog import Backlog, Waiting
from chord.driven import LOOKUP_STEPS, Send
from chord.errors import LocalProtocolError
from chord.sockets import EVENTS, NOBLOCK, POLLIN, POLLOUT, Context, Socket, make_socket

MAX_CONNECTIONS = 512
"""Peers with an open socket; the least recently used idle one is closed first."""

BACKLOG_S = 1.0
"""What has waited for a connection this long is not sent any more: its call is about to time out, if it has not."""

FORGET_REPLIES_S = 5.0
"""A reply that has not come after this long is not polled for any more."""

UNREACHABLE_S = 30.0
"""A socket that nothing could be sent by, nor was to be for this long, is closed: it would try to connect for ever."""

UNACKNOWLEDGED_MS = 5_000
"""A connection on which nothing arrives for this long is made anew. TCP waits twice as long before each repetition, so
that after a minute without a network it would be silent for most of another."""


class Connection:
    """The DEALER to one peer, what waits to be sent by it, and the calls whose replies are due, with their times.

    `reached`: something was sent by it. When nothing can be sent any more, it is broken. `used_at`: when something was
    to be sent last. Times in seconds of the monotonic clock.
    """

    __slots__ = ("awaited", "backlog", "reached", "socket", "used_at")

    def __init__(self, socket: Socket, waiting: Waiting) -> None:
        self.socket = socket
        self.used_at = 0.0
        self.backlog = Backlog(waiting)
        self.awaited: dict[int, float] = {}
        self.reached = False


class Connections:
    """Those of one process. `interest`: the poll set, in which they keep what they wait for; others have theirs there.

    `by_address` is in the order of use, the longest unused first.
    """

    def __init__(self, context: Context, interest: dict[Any, int]) -> None:
        self.by_address: OrderedDict[str, Connection] = OrderedDict()
        self.by_socket: dict[Socket, Connection] = {}
        self.waiting = Waiting()
        self._context = context
        self._interest = interest

    def send(self, output: Send, now: float) -> bool:
        """Send a request, or have it wait for a connection; False: a step of a lookup whose peer's connection broke."""
        address, message = output.address, output.message
        connection = self.by_address.get(address)
        if connection is None:
            try:
                connection = self._open(address, needed=message.call != 0 or output.answered_elsewhere)
            except (LocalProtocolError, zmq.ZMQError):
                return True  # an address that cannot be connected to: the call times out
            if connection is None:
                return True
        else:
            self.by_address.move_to_end(address)
        connection.used_at = now
        frame = wire.encode(message)
        sent = False
        if not connection.backlog:
            try:
                connection.socket.send(frame, NOBLOCK)
                sent = connection.reached = True
            except zmq.Again:
                pass
        if not sent:
            if connection.reached and isinstance(message.body, LOOKUP_STEPS):
                return False
            connection.backlog.add(frame, monotonic())  # or else the call times out
        if message.call:
            connection.awaited[message.call] = now
        self.poll_for(connection)
        return True

    def send_backlog(self, connection: Connection) -> None:
        """Something can be sent again: send what waited, but for what has waited too long."""
        oldest = monotonic() - BACKLOG_S
        while connection.backlog:
            queued_at, frame = connection.backlog.first()
            if queued_at >= oldest:
                try:
                    connection.socket.send(frame, NOBLOCK)
                    connection.reached = True
                except zmq.Again:
                    return
            connection.backlog.drop_first()
        self.poll_for(connection)

    def poll_for(self, connection: Connection) -> None:
        """Poll a connection for just what is due from it: an idle socket in the poll set costs every turn."""
        wanted = (POLLIN if connection.awaited else 0) | (POLLOUT if connection.backlog else 0)
        if wanted:
            self._interest[connection.socket] = wanted
        else:
            self._interest.pop(connection.socket, None)

    def sweep(self, now: float) -> None:
        """Give up on replies that have been due for long, and on sockets to those who are gone or never were."""
        oldest = now - FORGET_REPLIES_S
        for address, connection in list(self.by_address.items()):
            overdue = [call for call, sent_at in connection.awaited.items() if sent_at < oldest]
            for call in overdue:
                del connection.awaited[call]
            if connection.backlog and connection.backlog.last_at() < oldest:
                connection.backlog.clear()
            idle = not connection.awaited and not connection.backlog
            if idle and (overdue or _unreachable(connection, now)):
                self._close(address)  # its name may lead elsewhere by now
            else:
                self.poll_for(connection)

    def close(self) -> None:
        """Close every socket."""
        for address in list(self.by_address):
            self._close(address)

    def _open(self, address: str, needed: bool) -> Connection | None:
        """Connect to an address; None when that would take the socket of a call and is not `needed`, as for a cast."""
        target = endpoint(address)
        if len(self.by_address) >= MAX_CONNECTIONS:
            least = self._dispensable()
            if least is None and not needed:
                return None
            self._close(least or next(iter(self.by_address)))
        socket = make_socket(self._context, zmq.DEALER)
        socket.setsockopt(zmq.TCP_MAXRT, UNACKNOWLEDGED_MS)
        try:
            socket.connect(target)
        except zmq.ZMQError:
            socket.close(linger=0)
            raise
        connection = self.by_address[address] = self.by_socket[socket] = Connection(socket, self.waiting)
        return connection

    def _dispensable(self) -> str | None:
        """The peer used least recently of those that nothing is due from or to, or else of those that only casts wait
        for; None if a reply is due from every one.
        """
        casts_only = None
        for address, connection in self.by_address.items():
            if not connection.awaited:
                if not connection.backlog:
                    return address
                casts_only = casts_only or address
        return casts_only

    def _close(self, address: str) -> None:
        connection = self.by_address.pop(address)
        connection.backlog.clear()
        del self.by_socket[connection.socket]
        self._interest.pop(connection.socket, None)
        connection.socket.close(linger=0)


def _unreachable(connection: Connection, now: float) -> bool:
    """Whether nothing can be sent to a peer, and nobody has wanted that for a while."""
    return now - connection.used_at >= UNREACHABLE_S and not int(connection.socket.get(EVENTS)) & POLLOUT
