"""The iterative lookup: the asker calls each hop itself, and the owner at last.

A candidate that does not answer costs one time-out and is passed over for the next lower one. A candidate is asked once
at most, so a lookup ends whatever the tables say.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from chord.effects import Call, Operation, call
from chord.errors import LookupFailed, NotOwner, PeerUnreachable, RingcastError
from chord.identifiers import IdentifierSpace
from chord.limits import MAX_HOPS
from chord.messages import ConfirmOwner, Hop, NextHop, Owned, Pointer
from chord.round_trips import RoundTrips
from chord.trace import HopTrace


class Asker(Protocol):
    """What a lookup needs of the kernel it runs in."""

    @property
    def now(self) -> float: ...

    @property
    def round_trips(self) -> RoundTrips: ...


@dataclass(slots=True)
class Walk:
    """A lookup under way, and then its result.

    `path` holds the members that answered, the node first asked at its head; `hops` counts the forwards after it.
    """

    key: int
    path: list[Pointer] = field(default_factory=list)
    exchanges: list[HopTrace] = field(default_factory=list)
    owners: tuple[Pointer, ...] = ()
    owner: Pointer | None = None
    started_at: float = 0.0
    named_at: float = 0.0
    ended_at: float = 0.0

    @property
    def hops(self) -> int:
        """Forwards after the node first asked, up to the key's predecessor (table 1c, column B)."""
        return max(0, len(self.path) - 1)

    @property
    def timeouts(self) -> int:
        """Exchanges that were not answered in time."""
        return sum(exchange.timed_out for exchange in self.exchanges)


def find_owner(asker: Asker, space: IdentifierSpace, via: list[Pointer], walk: Walk) -> Operation[Pointer]:
    """Walk to the owner of `walk.key` and have it confirm; `walk` fills as it goes, also when this fails.

    Raises LookupFailed when no candidate is left.
    """
    yield from find_predecessor(asker, space, via, walk)
    owner = yield from _confirmed(asker, space, walk)
    walk.owner = owner
    walk.ended_at = asker.now
    return owner


def find_predecessor(asker: Asker, space: IdentifierSpace, via: list[Pointer], walk: Walk) -> Operation[Hop]:
    """Walk to the member that precedes `walk.key`; its answer names the owner and the owner's successors."""
    walk.started_at = asker.now
    distance = space.distance
    key = walk.key
    # The nearest candidate is last. Contacts of unknown identifier are as far as can be.
    pool = list(reversed(via))
    met = {(pointer.id, pointer.address) for pointer in pool}
    request = NextHop(key)
    why = "no contact was given"
    while pool and len(walk.exchanges) < MAX_HOPS:
        pointer = _next(asker, pool)
        sent_at = asker.now
        try:
            hop: Hop = yield Call(pointer, request)
        except PeerUnreachable as error:
            walk.exchanges.append(_trace(pointer, asker.now - sent_at, timed_out=True))
            why = str(error)
            continue
        except RingcastError as error:
            walk.exchanges.append(_trace(pointer, asker.now - sent_at))
            why = str(error)
            continue
        walk.exchanges.append(_trace(hop.member, asker.now - sent_at))
        walk.path.append(hop.member)
        if hop.final:
            walk.owners = hop.candidates
            walk.named_at = asker.now
            return hop
        reach = distance(hop.member.id, key) or space.size
        for candidate in reversed(hop.candidates):
            # Only what is nearer than the member that said so: no answer can send a lookup back.
            if distance(candidate.id, key) < reach and (candidate.id, candidate.address) not in met:
                met.add((candidate.id, candidate.address))
                pool.append(candidate)
    if pool:
        why = f"{MAX_HOPS} exchanges did not reach it"
    raise LookupFailed(f"lookup of key {key:016x} failed after {len(walk.exchanges)} exchanges: {why}")


def _next(asker: Asker, pool: list[Pointer]) -> Pointer:
    """Take the nearest candidate that is not suspected of being dead, or the nearest of all."""
    for index in range(len(pool) - 1, -1, -1):
        if not asker.round_trips.suspected(pool[index].address, asker.now):
            return pool.pop(index)
    return pool.pop()


def _confirmed(asker: Asker, space: IdentifierSpace, walk: Walk) -> Operation[Pointer]:
    """Ask the owner that the predecessor named, or the first of its successors that is alive."""
    distance = space.distance
    unreachable: set[Pointer] = set()
    pending = list(reversed(walk.owners))
    why = "its predecessor named nobody"
    for _ in range(MAX_HOPS):
        if not pending:
            break
        candidate = pending.pop()
        if pending and asker.round_trips.suspected(candidate.address, asker.now):
            unreachable.add(candidate)
            continue
        sent_at = asker.now
        try:
            answer = yield from call(candidate, ConfirmOwner(walk.key), Owned, attempts=2)
        except NotOwner as refusal:
            walk.exchanges.append(_trace(candidate, asker.now - sent_at))
            hint = refusal.hint
            if not isinstance(hint, Pointer) or hint in unreachable:
                return candidate  # its predecessor is dead, and it does not know yet
            if distance(walk.key, hint.id) >= distance(walk.key, candidate.id):
                why = f"{candidate} named {hint}, which is farther from the key"
                continue
            pending.extend((candidate, hint))
        except RingcastError as error:
            timed_out = isinstance(error, PeerUnreachable)
            walk.exchanges.append(_trace(candidate, asker.now - sent_at, timed_out=timed_out))
            unreachable.add(candidate)
            why = str(error)
        else:
            walk.exchanges.append(_trace(answer.owner, asker.now - sent_at))
            return answer.owner
    raise LookupFailed(f"no owner of key {walk.key:016x} answered: {why}")


def _trace(pointer: Pointer, rtt_s: float, timed_out: bool = False) -> HopTrace:
    return HopTrace(pointer.id, pointer.address, int(rtt_s * 1e6), timed_out)
