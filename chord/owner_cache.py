"""Owners that a client found lately, so that it asks them directly: one round trip instead of a walk.

A line holds an arc of keys and the member that owned it when a walk ended there. It is a guess: the member asked says
whether it owns the key. No answer renews a line, so a client looks anew at least once a lease.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import OrderedDict

from msgspec import Struct

from chord.effects import Call, Operation
from chord.errors import PeerUnreachable, RingcastError
from chord.identifiers import IdentifierSpace, between_right
from chord.lookup import Asker, Walk
from chord.messages import Hop, NextHop, Pointer
from chord.trace import HopTrace

LEASE_S = 10.0
"""How long an owner is taken for one without a new walk."""

MAX_LINES = 1_024


class _Line(Struct):
    """`owner` owned the keys (low, owner.id] when it was found."""

    low: int
    owner: Pointer
    until: float


class OwnerCache:
    """Owners by the arcs of keys that they own; the one used least recently goes first. Times: the kernel's clock."""

    def __init__(self, space: IdentifierSpace, lease_s: float = LEASE_S, lines: int = MAX_LINES) -> None:
        self._space = space
        self._lease_s = lease_s
        self._most = lines
        self._lines: OrderedDict[int, _Line] = OrderedDict()
        self._identifiers: list[int] = []

    def __len__(self) -> int:
        return len(self._lines)

    def find(self, key: int, now: float) -> Pointer | None:
        """The owner of a key, if one was found that is less than a lease old."""
        identifiers = self._identifiers
        if not identifiers:
            return None
        position = bisect_left(identifiers, key)
        identifier = identifiers[position if position < len(identifiers) else 0]
        line = self._lines[identifier]
        if now >= line.until:
            self._drop(identifier)
            return None
        if not between_right(line.low, key, identifier):
            return None
        self._lines.move_to_end(identifier)
        return line.owner

    def learn(self, walk: Walk, now: float) -> None:
        """Take in the owner that a walk ended at, and the arc that it surely owns."""
        owner = walk.owner
        assert owner is not None, "a walk without an owner teaches nothing"
        if owner.id not in self._lines:
            insort(self._identifiers, owner.id)
        self._lines[owner.id] = _Line(self._low(walk, owner), owner, now + self._lease_s)
        self._lines.move_to_end(owner.id)
        if len(self._lines) > self._most:
            self._drop(next(iter(self._lines)))

    def forget(self, owner: Pointer) -> None:
        """The member did not answer, or not as an owner."""
        line = self._lines.get(owner.id)
        if line is not None and line.owner == owner:
            self._drop(owner.id)

    def _low(self, walk: Walk, owner: Pointer) -> int:
        """Where the arc of keys begins that the owner surely owns.

        After its predecessor, if that one named it and nobody was passed over on the way; else at the key.
        """
        named_by = walk.path[-1]
        nothing_failed = len(walk.exchanges) == len(walk.path) + 1
        if nothing_failed and named_by != owner and walk.owners[0] == owner:
            return named_by.id
        return (walk.key - 1) & (self._space.size - 1)

    def _drop(self, identifier: int) -> None:
        del self._lines[identifier]
        del self._identifiers[bisect_left(self._identifiers, identifier)]


def confirm(asker: Asker, owner: Pointer, walk: Walk) -> Operation[bool]:
    """Ask a cached owner whether it owns `walk.key`; whether it does. `walk` then holds that one exchange.

    It is asked for the next hop, which only a member that knows its predecessor answers with itself: one that merely
    stands in for a silent predecessor would pass ConfirmOwner.
    """
    sent_at = asker.now
    timed_out = confirmed = False
    try:
        hop: Hop = yield Call(owner, NextHop(walk.key))
    except RingcastError as error:
        timed_out = isinstance(error, PeerUnreachable)
    else:
        confirmed = hop.final and hop.member == owner and hop.candidates[:1] == (owner,)
        if confirmed:
            walk.path.append(owner)
            walk.owners = hop.candidates
            walk.owner = owner
            walk.named_at = walk.ended_at = asker.now
    walk.exchanges.append(HopTrace(owner.id, owner.address, int((asker.now - sent_at) * 1e6), timed_out))
    return confirmed
