"""The iterative lookup: the asker calls each hop itself, and the owner at last, which confirms or does what is asked.

A candidate that does not answer costs one time-out; then whoever named it is asked for another, or the next lower one
is taken. Each candidate is asked once, and again only after another one was found dead, so a lookup ends whatever the
tables say.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from chord.effects import Call, Operation, call
from chord.errors import LookupFailed, NotMember, NotOwner, PeerUnreachable, RingcastError, WrongCluster
from chord.identifiers import IdentifierSpace
from chord.limits import MAX_AVOIDED, MAX_HOPS, MAX_LOOKUP_S, MAX_NAMED
from chord.messages import ConfirmOwner, Get, Hop, NextHop, Owned, Pointer
from chord.round_trips import RoundTrips
from chord.trace import HopTrace

R = TypeVar("R")


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
    `named_by` is who named the owners, which are those found dead and passed over and the ones after them.
    """

    key: int
    path: list[Pointer] = field(default_factory=list)
    exchanges: list[HopTrace] = field(default_factory=list)
    owners: tuple[Pointer, ...] = ()
    owner: Pointer | None = None
    started_at: float = 0.0
    named_at: float = 0.0
    ended_at: float = 0.0
    named_by: Pointer | None = None

    @property
    def hops(self) -> int:
        """Forwards after the node first asked, up to the key's predecessor (Stoica et al. 2003, path length)."""
        return max(0, len(self.path) - 1)

    def overdue(self, now: float) -> bool:
        """Whether it has taken as long as a lookup may."""
        return now >= self.started_at + MAX_LOOKUP_S

    @property
    def timeouts(self) -> int:
        """Exchanges that were not answered in time."""
        return sum(exchange.timed_out for exchange in self.exchanges)


def find_owner(asker: Asker, space: IdentifierSpace, via: Iterable[Pointer], walk: Walk) -> Operation[Pointer]:
    """Walk to the owner of `walk.key` and have it confirm; `walk` fills as it goes, also when this fails.

    Raises LookupFailed when no candidate is left, WrongCluster when all that were asked belong to another cluster.
    """
    yield from find_predecessor(asker, space, via, walk)
    with suppress(NotOwner):  # whoever denies is the one to ask, its predecessor being dead
        yield from _answered(asker, space, walk, ConfirmOwner(walk.key), Owned)
    assert walk.owner is not None
    return walk.owner


def ask_owner(
    asker: Asker, space: IdentifierSpace, via: Iterable[Pointer], walk: Walk, request: Get, expected: type[R]
) -> Operation[R]:
    """Walk to the owner of `walk.key` and have it answer a request, which it refuses if it is not the owner.

    That spares the exchange in which it confirms. Raises the same, or what the owner says in place of an answer.
    """
    yield from find_predecessor(asker, space, via, walk)
    return (yield from _answered(asker, space, walk, request, expected))


def find_predecessor(asker: Asker, space: IdentifierSpace, via: Iterable[Pointer], walk: Walk) -> Operation[Hop]:
    """Walk to the member that precedes `walk.key`; its answer names the owner and the owner's successors."""
    walk.started_at = asker.now
    pool = _Pool(asker, space, walk.key, via)
    why = "no contact was given"
    wrong: WrongCluster | None = None
    while len(walk.exchanges) < MAX_HOPS and not walk.overdue(asker.now) and (pointer := pool.take()) is not None:
        sent_at = asker.now
        try:
            hop: Hop = yield Call(pointer, NextHop(walk.key, pool.avoid))
        except RingcastError as error:
            timed_out = isinstance(error, PeerUnreachable)
            walk.exchanges.append(_trace(pointer, asker.now - sent_at, timed_out=timed_out))
            pool.gave_nothing(pointer)
            why = str(error)
            wrong = error if isinstance(error, WrongCluster) and (wrong or len(walk.exchanges) == 1) else None
            continue
        wrong = None
        walk.exchanges.append(_trace(hop.member, asker.now - sent_at))
        answered = pointer if pointer.incarnation else hop.member
        if answered not in walk.path:
            walk.path.append(answered)
        if hop.final:
            walk.owners = hop.candidates[:MAX_NAMED]
            walk.named_by = answered
            walk.named_at = asker.now
            return hop
        pool.answered(hop)
    if wrong is not None:
        raise wrong
    if len(walk.exchanges) >= MAX_HOPS:
        why = f"{MAX_HOPS} exchanges did not reach it"
    elif walk.overdue(asker.now):
        why = f"{MAX_LOOKUP_S:.0f} s did not reach it: {why}"
    elif not walk.path:
        raise LookupFailed(f"no ring node answered: {why}")
    raise LookupFailed(f"lookup of key {walk.key:016x} failed after {len(walk.exchanges)} exchanges: {why}")


class _Pool:
    """Whom a lookup may ask next, the nearest to the key last.

    When a candidate turns out to be dead, the nearest member that has answered is asked once more, and told to leave
    the dead out (`avoid`): it knows better than anybody farther away who comes after them. Those that lie no nearer to
    the key than it does are of no account to it.
    """

    def __init__(self, asker: Asker, space: IdentifierSpace, key: int, via: Iterable[Pointer]) -> None:
        self._asker = asker
        self._space = space
        self._key = key
        self._via = iter(via)
        self._pointers: list[Pointer] = []
        self._met: set[tuple[int, str]] = set()
        self._suspected: list[Pointer] = []
        self._nearest: Pointer | None = None
        self._reach = space.size
        self.avoid: tuple[int, ...] = ()

    def take(self) -> Pointer | None:
        """The nearest candidate that is not suspected of being dead; those that are come last of all."""
        asker = self._asker
        while (pointer := self._pointers.pop() if self._pointers else self._next_contact()) is not None:
            if not asker.round_trips.suspected(pointer.address, asker.now):
                return pointer
            self._suspected.append(pointer)
            self.gave_nothing(pointer)
        return self._suspected.pop() if self._suspected else None

    def _next_contact(self) -> Pointer | None:
        """A contact, once there is no candidate: its identifier may be unknown, which is as far as can be."""
        pointer = next(self._via, None)
        if pointer is not None:
            self._met.add((pointer.id, pointer.address))
        return pointer

    def gave_nothing(self, pointer: Pointer) -> None:
        """A candidate is dead, or as good as that."""
        nearest = self._nearest
        if pointer.incarnation == 0 or pointer.id in self.avoid or len(self.avoid) >= MAX_AVOIDED:
            return
        self.avoid = (*self.avoid, pointer.id)
        if nearest is not None and nearest != pointer and nearest not in self._pointers:
            self._pointers.append(nearest)

    def answered(self, hop: Hop) -> None:
        """Take in the candidates of an answer. Only what is nearer than who said so: no answer sends a lookup back."""
        distance = self._space.distance
        key = self._key
        reach = distance(hop.member.id, key) or self._space.size
        if reach < self._reach or self._nearest is None:
            self._reach = reach
            self._nearest = hop.member
            self.avoid = tuple(dead for dead in self.avoid if distance(dead, key) < reach)
        for candidate in hop.candidates[:MAX_NAMED]:
            if distance(candidate.id, key) < reach and (candidate.id, candidate.address) not in self._met:
                self._met.add((candidate.id, candidate.address))
                insort(self._pointers, candidate, key=lambda one: -distance(one.id, key))


def _answered(
    asker: Asker, space: IdentifierSpace, walk: Walk, request: ConfirmOwner | Get, expected: type[R]
) -> Operation[R]:
    """Ask the owner that the predecessor named, or the first of its successors that is alive; `walk.owner` is then it.

    A silent candidate is asked twice; when all are dead, the predecessor is asked who comes after them. One that denies
    because of a predecessor that was silent is taken for the owner only after that predecessor has been asked again: it
    may have been busy for a moment, or its answers lost. The owner is known then, and NotOwner raised.
    """
    distance = space.distance
    silent: set[Pointer] = set()
    insisted: set[Pointer] = set()
    dead: set[Pointer] = set()
    tried: set[Pointer] = set()
    pending = list(reversed(walk.owners))
    why = "nobody was asked" if pending else "its predecessor named nobody"
    while True:
        if len(walk.exchanges) >= MAX_HOPS or walk.overdue(asker.now):
            limit = f"{MAX_LOOKUP_S:.0f} s" if walk.overdue(asker.now) else f"{MAX_HOPS} exchanges"
            why = f"{limit} were not enough: {why}"
            break
        if not pending:
            pending = list(reversed((yield from _further_owners(asker, walk))))
        if not pending:
            break
        candidate = pending.pop()
        if pending and candidate not in insisted and asker.round_trips.suspected(candidate.address, asker.now):
            silent.add(candidate)
            continue
        sent_at = asker.now
        timed_out = False
        try:
            answer = yield from call(candidate, request, expected)
        except NotOwner as refusal:
            hint = refusal.hint
            if not isinstance(hint, Pointer) or hint in dead or (hint in silent and hint in insisted):
                walk.owner, walk.ended_at = candidate, asker.now  # its predecessor is dead, and it does not know yet
                raise
            if distance(walk.key, hint.id) >= distance(walk.key, candidate.id):
                why = f"{candidate} named {hint}, which is farther from the key"
                continue
            if hint in silent:
                insisted.add(hint)
            pending.extend((candidate, hint))
        except PeerUnreachable as error:
            timed_out = True
            why = str(error)
            if candidate in tried:
                silent.add(candidate)
            else:
                tried.add(candidate)
                pending.append(candidate)
        except NotMember as error:
            dead.add(candidate)
            why = str(error)
        except RingcastError as error:
            if type(request) is not ConfirmOwner:
                raise
            silent.add(candidate)
            why = str(error)
        else:
            walk.owner, walk.ended_at = candidate, asker.now
            return answer
        finally:
            walk.exchanges.append(_trace(candidate, asker.now - sent_at, timed_out=timed_out))
    raise LookupFailed(f"no owner of key {walk.key:016x} answered: {why}")


def _further_owners(asker: Asker, walk: Walk) -> Operation[tuple[Pointer, ...]]:
    """Who comes after the owners named so far, as their predecessor knows the ring; nobody if it cannot say."""
    predecessor, avoid = walk.named_by, tuple(owner.id for owner in walk.owners)
    assert predecessor is not None, "owners were named by somebody"
    if not avoid or len(avoid) > MAX_AVOIDED:
        return ()
    sent_at = asker.now
    hop: Hop | None = None
    timed_out = False
    try:
        hop = yield from call(predecessor, NextHop(walk.key, avoid), Hop)
    except RingcastError as error:
        timed_out = isinstance(error, PeerUnreachable)
    walk.exchanges.append(_trace(predecessor, asker.now - sent_at, timed_out=timed_out))
    if hop is None or not hop.final:
        return ()
    further = tuple(owner for owner in hop.candidates[:MAX_NAMED] if owner.id not in avoid)
    walk.owners += further
    return further


def _trace(pointer: Pointer, rtt_s: float, timed_out: bool = False) -> HopTrace:
    return HopTrace(pointer.id, pointer.address, int(rtt_s * 1e6), timed_out)
