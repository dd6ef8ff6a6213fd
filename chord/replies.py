"""Replies that a kernel waits for: matched by call id, timed out, and what the time that they take tells of a peer."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Any

import msgspec

from chord import wire
from chord.driven import Then
from chord.effects import Operation
from chord.errors import NotMember, PeerUnreachable, RemoteProtocolError, RingcastError, WrongCluster
from chord.messages import Arrived, Failure, Pointer, Reply, ReplyBody
from chord.round_trips import Peer

LATE_CALLS_KEPT = 1_024


class Running:
    """An operation under way, and who wants its outcome."""

    __slots__ = ("generator", "then")

    def __init__(self, generator: Operation[Any], then: Then | None) -> None:
        self.generator = generator
        self.then = then


class Waiting(msgspec.Struct):
    """A call whose reply has not come. `peer` learns from how long it takes, unless that says nothing of the link."""

    running: Running
    to: Pointer
    peer: Peer | None
    expected: type
    sent_at: float
    timeout_s: float


Ready = tuple[Running, Any, "RingcastError | None"]
"""An operation that goes on, and the result or the error that it goes on with."""


class Replies:
    """Ends the `calls` of operations, by a reply or by a time-out, and puts into `ready` what goes on then.

    `lookups` learns how long it takes until an answer arrives from somebody else than who was asked.
    """

    def __init__(self, calls: dict[int, Waiting], ready: deque[Ready], lookups: Peer) -> None:
        self._calls = calls
        self._ready = ready
        self._lookups = lookups
        self._late: OrderedDict[int, tuple[Peer, float]] = OrderedDict()

    def replied(self, reply: Reply, now: float) -> None:
        """A reply has come. One that nobody waits for any more still tells how long the peer takes."""
        waiting = self._calls.pop(reply.call, None)
        if waiting is None:
            late = self._late.pop(reply.call, None)
            if late is not None:
                late[0].observe(now - late[1])
            return
        if waiting.peer is not None:
            waiting.peer.observe(now - waiting.sent_at)
        body = reply.body
        if type(body) is waiting.expected:
            self._ready.append((waiting.running, body, None))
        else:
            self._ready.append((waiting.running, None, _error_in(body, waiting)))

    def arrived(self, arrived: Arrived, now: float) -> None:
        """The answer to what was cast under a token. No other call is ended by it, whoever sent it."""
        token = arrived.token
        waiting = self._calls.get(token)
        if waiting is not None:
            if waiting.expected is Arrived:
                del self._calls[token]
                self._lookups.observe(now - waiting.sent_at)
                self._ready.append((waiting.running, arrived, None))
        elif (late := self._late.get(token)) is not None and late[0] is self._lookups:
            del self._late[token]
            late[0].observe(now - late[1])

    def timed_out(self, call: int, now: float) -> None:
        """The time of a call whose reply is waited for is over."""
        waiting = self._calls.pop(call)
        peer = waiting.peer
        if peer is not None:
            self._late[call] = (peer, waiting.sent_at)
            if len(self._late) > LATE_CALLS_KEPT:
                self._late.popitem(last=False)
            peer.timed_out(now)
        error = PeerUnreachable(f"no reply from {waiting.to.address} within {waiting.timeout_s:.2f} s")
        self._ready.append((waiting.running, None, error))


def _error_in(body: ReplyBody, waiting: Waiting) -> RingcastError:
    """What a reply of another type than the one expected means.

    A member whose address a process of another cluster has by now is no member any more. Of a contact, which may be
    any process, nobody knows that it was one.
    """
    to = waiting.to
    if type(body) is Failure:
        error = wire.raised(body)
        if isinstance(error, WrongCluster) and to.incarnation:
            return NotMember(f"{to} is gone, and another process has its address: {error}")
        return error
    return RemoteProtocolError(f"{to.address} answered {type(body).__name__}, not {waiting.expected.__name__}")
