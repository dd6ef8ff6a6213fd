"""What a process outside the ring asks of it: lookups, puts, gets, deletions and walks, as operations.

A failed step is repeated with another contact until `patience_s` is over. Every member that answers becomes a contact,
so a client outlives the nodes it was pointed at. With a cache, an owner found lately is asked first, without a walk.
Where the ring can reach the asker, it may look up recursively; what is lost on the way is walked to.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import TypeVar

from chord.effects import Operation, call, sleep
from chord.errors import (
    InvalidName,
    LocalProtocolError,
    LookupFailed,
    NotMember,
    NotOwner,
    PeerUnreachable,
    RemoteProtocolError,
    RingcastError,
    StaleVersion,
    TooLarge,
    WrongCluster,
)
from chord.identifiers import IdentifierSpace
from chord.kernel import Kernel
from chord.limits import MAX_ENTRY_ID, MAX_LEASE_S, MAX_VALUE_BYTES, MAX_VERSION
from chord.lookup import Walk, ask_owner, find_owner
from chord.messages import Entry, Get, Neighbours, Page, Pointer, Put, Stored, contact
from chord.names import check_text, normalise
from chord.owner_cache import OwnerCache, confirm
from chord.pages import Place, next_place
from chord.recursion import find_owner_recursively
from chord.trace import LookupTrace
from chord.views import ring_walk

R = TypeVar("R")

CONTACTS_KEPT = 64
RETRY_PAUSE_S = 0.1
PAGES_AT_MOST = 1_000

FINAL = (InvalidName, LocalProtocolError, StaleVersion, TooLarge, WrongCluster)
"""Errors that asking again cannot mend."""

OWNER_NO_MORE = (NotOwner, NotMember, PeerUnreachable, WrongCluster)
"""What is heard, or not, at the address of a member that owned the key when it was cached."""


class Ring:
    """The ring as seen from outside. `via`: addresses (host:port) of some of its processes.

    `cache`: whether owners found lately are asked without a walk. Without it every lookup is a walk.
    `answer_at`: where this kernel answers requests (host:port); then lookups are recursive.
    """

    def __init__(
        self,
        kernel: Kernel,
        via: list[str],
        space: IdentifierSpace | None = None,
        patience_s: float = 5.0,
        cache: bool = False,
        answer_at: str = "",
    ) -> None:
        if not via:
            raise LocalProtocolError("no ring node is known; name one with --via HOST:PORT or RINGCAST_VIA")
        self._kernel = kernel
        self._given = list(via)
        self._learned: OrderedDict[str, None] = OrderedDict()
        self._first = 0
        self.space = space or IdentifierSpace()
        self.patience_s = patience_s
        self._owners = OwnerCache(self.space) if cache else None
        self._answer_at = answer_at

    def locate(self, name: str) -> Operation[Walk]:
        """The owner of a name, and how it was found. Raises LookupFailed when the patience is over."""
        name = normalise(name)
        return (yield from self._patiently(lambda: self._located(name)))

    def put(
        self,
        name: str,
        entry: str,
        value: bytes,
        lease_s: float,
        version: int = 0,
        notify: str = "",
    ) -> Operation[Stored]:
        """Store one entry of a record; version 0: one more than the owner holds.

        Raises LocalProtocolError for what no ring could take, StaleVersion or TooLarge for what this one does not, ...
        """
        _check_entry(entry)
        _check_sizes(entry, value, lease_s, version)
        request = Put(normalise(name), entry, value, lease_s, version, notify)
        return (yield from self._at_owner(request, Stored))

    def delete(self, name: str, entry: str, version: int = 0) -> Operation[Stored]:
        """Delete one entry of a record, as version 0 or a later one as in `put`; what is not there is no error."""
        _check_entry(entry)
        return (yield from self._at_owner(Put(normalise(name), entry, version=version, deleted=True), Stored))

    def get(self, name: str) -> Operation[list[Entry]]:
        """The live entries of a record, in the order of their ids."""
        entries: list[Entry] = []
        name = normalise(name)
        after: Place = name, ""
        for _ in range(PAGES_AT_MOST):
            page = yield from self._at_owner(Get(name, after[1]), Page)
            if any(entry.name != name for entry in page.entries):
                raise RemoteProtocolError(f"the owner of {name!r} answered with entries of another record")
            following = next_place(page, after, f"record {name!r}")
            entries.extend(page.entries)
            if following is None:
                return entries
            after = following
        raise LookupFailed(f"record {name!r} has more than {PAGES_AT_MOST} pages")

    def members(self) -> Operation[list[Neighbours]]:
        """The members in ring order, each with its own view."""

        def step() -> Operation[list[Neighbours]]:
            views = yield from ring_walk(next(self._contacts()))
            for view in views:
                self._learn(view.member.address)
            return views

        return (yield from self._patiently(step))

    def _located(self, name: str) -> Operation[Walk]:
        """One attempt at a lookup: a cached owner confirms, or a walk is made. One trace either way."""
        first = Walk(self.space.key(name), started_at=self._kernel.now)
        owner = self._cached(first.key)
        if owner is None:
            return (yield from self._walk(name))[0]
        if (yield from confirm(self._kernel, owner, first)):
            self._trace(name, first, "ok", "cached")
            return first
        self._forget(owner)
        return (yield from self._walk(name, first))[0]

    def _walk(
        self, name: str, before: Walk | None = None, request: Get | None = None
    ) -> Operation[tuple[Walk, Page | None]]:
        """A way to the owner, and its trace; what was asked in vain `before` counts as part of it.

        If the way is walked, the owner is asked a `request` at its end, and need not confirm first.
        """
        mode = "iterative"
        if self._answer_at:
            mode = "recursive"
            walk = Walk(self.space.key(name))
            try:
                yield from find_owner_recursively(self._kernel, self._contacts(), self._answer_at, walk)
            except LookupFailed:
                self._first += 1  # ask another contact first: it may be this one that is dead
                before = _together(before, walk)
            else:
                return self._found(name, before, walk, mode), None
        walk = Walk(self.space.key(name))
        page: Page | None = None
        try:
            if request is None:
                yield from find_owner(self._kernel, self.space, self._contacts(), walk)
            else:
                page = yield from ask_owner(self._kernel, self.space, self._contacts(), walk, request, Page)
        except RingcastError as error:
            self._trace(name, _together(before, walk), "ok" if walk.owner else type(error).__name__, mode)
            raise
        return self._found(name, before, walk, mode), page

    def _found(self, name: str, before: Walk | None, walk: Walk, mode: str) -> Walk:
        """Learn from a way that led to the owner."""
        if self._owners is not None:
            self._owners.learn(walk, self._kernel.now)
        self._trace(name, _together(before, walk), "ok", mode)
        for pointer in walk.path:
            self._learn(pointer.address)
        return walk

    def _at_owner(self, request: Put | Get, expected: type[R]) -> Operation[R]:
        """Have the owner carry out a request. A repeated put may count two versions up, never lose one.

        A cached owner is asked at once: it refuses what it does not own. That is no lookup, and leaves no trace.
        """

        def step() -> Operation[R]:
            owner = self._cached(self.space.key(request.name))
            if owner is not None:
                try:
                    return (yield from call(owner, request, expected))
                except OWNER_NO_MORE:
                    self._forget(owner)
                except FINAL:
                    raise
                except RingcastError:
                    self._forget(owner)
                    raise
            walk, page = yield from self._walk(request.name, request=request if isinstance(request, Get) else None)
            if isinstance(page, expected):
                return page
            assert walk.owner is not None
            return (yield from call(walk.owner, request, expected))

        return (yield from self._patiently(step))

    def _patiently(self, step: Callable[[], Operation[R]]) -> Operation[R]:
        deadline = self._kernel.now + self.patience_s
        while True:
            try:
                return (yield from step())
            except FINAL:
                raise
            except RingcastError:
                self._first += 1  # ask another contact first
                if self._kernel.now + RETRY_PAUSE_S > deadline:
                    raise
            yield from sleep(RETRY_PAUSE_S * self._kernel.rng.uniform(0.5, 1.5))

    # Cached owners -------------------------------------------------------------------------------------------------

    def _cached(self, key: int) -> Pointer | None:
        """The owner of a key that was found lately and is not suspected of being dead."""
        kernel = self._kernel
        owner = self._owners.find(key, kernel.now) if self._owners is not None else None
        return None if owner is None or kernel.round_trips.suspected(owner.address, kernel.now) else owner

    def _forget(self, owner: Pointer) -> None:
        if self._owners is not None:
            self._owners.forget(owner)

    # Contacts ------------------------------------------------------------------------------------------------------

    def _contacts(self) -> Iterator[Pointer]:
        """Whom to ask first, and the others to fall back on."""
        addresses = list(dict.fromkeys((*self._given, *self._learned)))
        first = self._first
        return (contact(addresses[(first + step) % len(addresses)]) for step in range(len(addresses)))

    def _learn(self, address: str) -> None:
        self._learned[address] = None
        self._learned.move_to_end(address)
        if len(self._learned) > CONTACTS_KEPT:
            self._learned.popitem(last=False)

    def _trace(self, name: str, walk: Walk, outcome: str, mode: str) -> None:
        kernel = self._kernel
        named_at = walk.named_at or kernel.now
        kernel.emit(
            LookupTrace(
                trace_id=kernel.rng.getrandbits(63),
                cluster=kernel.cluster,
                mode=mode,
                origin=kernel.address,
                name=name,
                key=walk.key,
                owner=walk.owner.id if walk.owner else None,
                owner_address=walk.owner.address if walk.owner else "",
                outcome=outcome,
                hops=walk.hops,
                timeouts=walk.timeouts,
                start_us=kernel.epoch_us(walk.started_at),
                duration_us=int((named_at - walk.started_at) * 1e6),
                owner_us=int((walk.ended_at - named_at) * 1e6) if walk.owner else 0,
                hop_list=walk.exchanges,
            )
        )


def _together(before: Walk | None, walk: Walk) -> Walk:
    """The walk, begun with what was asked in vain: a cached owner, or the ring recursively."""
    if before is not None:
        walk.started_at = before.started_at
        walk.exchanges[:0] = before.exchanges
    return walk


def _check_entry(entry: str) -> None:
    check_text("entry id", entry)
    if not 1 <= len(entry) <= MAX_ENTRY_ID:
        raise LocalProtocolError(
            f"entry id {entry[:24]!r} has {len(entry)} characters; 1 to {MAX_ENTRY_ID} are allowed"
        )


def _check_sizes(entry: str, value: bytes, lease_s: float, version: int) -> None:
    if len(value) > MAX_VALUE_BYTES:
        raise LocalProtocolError(
            f"the value of {entry!r} has {len(value)} bytes; at most {MAX_VALUE_BYTES} are allowed"
        )
    if not 0 < lease_s <= MAX_LEASE_S:
        raise LocalProtocolError(
            f"the lease of {entry!r} is {lease_s} s; more than 0 and at most {MAX_LEASE_S:.0f} are allowed"
        )
    if not 0 <= version <= MAX_VERSION:
        raise LocalProtocolError(f"the version of {entry!r} is {version}; 0 to {MAX_VERSION} are allowed")
