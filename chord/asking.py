"""What a process outside the ring asks of it: lookups, puts, gets, deletions and walks, as operations.

A failed step is repeated with another contact until `patience_s` is over. Every member that answers becomes a contact,
so a client outlives the nodes it was pointed at.
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
    RemoteProtocolError,
    RingcastError,
    StaleVersion,
    TooLarge,
    WrongCluster,
)
from chord.identifiers import IdentifierSpace
from chord.kernel import Kernel
from chord.limits import MAX_ENTRY_ID, MAX_LEASE_S, MAX_VALUE_BYTES, MAX_VERSION
from chord.lookup import Walk, find_owner
from chord.messages import Entry, Get, Neighbours, Page, Pointer, Put, Stored, contact
from chord.names import check_text, normalise
from chord.pages import Place, next_place
from chord.trace import LookupTrace
from chord.views import ring_walk

R = TypeVar("R")

CONTACTS_KEPT = 64
RETRY_PAUSE_S = 0.1
PAGES_AT_MOST = 1_000

FINAL = (InvalidName, LocalProtocolError, StaleVersion, TooLarge, WrongCluster)
"""Errors that asking again cannot mend."""


class Ring:
    """The ring as seen from outside. `via`: addresses (host:port) of some of its processes."""

    def __init__(
        self, kernel: Kernel, via: list[str], space: IdentifierSpace | None = None, patience_s: float = 5.0
    ) -> None:
        if not via:
            raise LocalProtocolError("no ring node is known; name one with --via HOST:PORT or RINGCAST_VIA")
        self._kernel = kernel
        self._given = list(via)
        self._learned: OrderedDict[str, None] = OrderedDict()
        self._first = 0
        self.space = space or IdentifierSpace()
        self.patience_s = patience_s

    def locate(self, name: str) -> Operation[Walk]:
        """The owner of a name, and how it was found. Raises LookupFailed when the patience is over."""
        name = normalise(name)
        return (yield from self._patiently(lambda: self._walk(name)))

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

    def delete(self, name: str, entry: str) -> Operation[Stored]:
        """Delete one entry of a record; deleting what is not there is no error (version 0)."""
        _check_entry(entry)
        return (yield from self._at_owner(Put(normalise(name), entry, deleted=True), Stored))

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

    def _walk(self, name: str) -> Operation[Walk]:
        """One attempt at a lookup, and its trace."""
        walk = Walk(self.space.key(name))
        try:
            yield from find_owner(self._kernel, self.space, self._contacts(), walk)
        except RingcastError as error:
            self._trace(name, walk, type(error).__name__)
            raise
        self._trace(name, walk, "ok")
        for pointer in walk.path:
            self._learn(pointer.address)
        return walk

    def _at_owner(self, request: Put | Get, expected: type[R]) -> Operation[R]:
        """Have the owner carry out a request. A repeated put may count two versions up, never lose one."""

        def step() -> Operation[R]:
            walk = yield from self._walk(request.name)
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

    def _trace(self, name: str, walk: Walk, outcome: str) -> None:
        kernel = self._kernel
        named_at = walk.named_at or kernel.now
        kernel.emit(
            LookupTrace(
                trace_id=kernel.rng.getrandbits(63),
                cluster=kernel.cluster,
                mode="iterative",
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
