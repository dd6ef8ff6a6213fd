"""What a process outside the ring asks of it: lookups, puts, gets, deletions and walks, as operations.

A failed step is repeated with another contact until `patience_s` is over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from chord.contacts import Contacts
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
from chord.locating import Locator
from chord.lookup import Walk
from chord.messages import Entry, Get, Neighbours, Page, Put, Stored
from chord.names import check_text, normalise
from chord.pages import Place, next_place
from chord.views import ring_walk

R = TypeVar("R")

RETRY_PAUSE_S = 0.1
PAGES_AT_MOST = 1_000

FINAL = (InvalidName, LocalProtocolError, StaleVersion, TooLarge, WrongCluster)
"""Errors that asking again cannot mend."""

OWNER_NO_MORE = (NotOwner, NotMember, PeerUnreachable)
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
        self._kernel = kernel
        self.space = space or IdentifierSpace()
        self.patience_s = patience_s
        self._contacts = Contacts(via)
        self._locator = Locator(kernel, self.space, self._contacts, cache, answer_at)

    def locate(self, name: str) -> Operation[Walk]:
        """The owner of a name, and how it was found. Raises LookupFailed when the patience is over."""
        name = normalise(name)
        return (yield from self._patiently(lambda: self._locator.locate(name)))

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

        Raises LocalProtocolError for what no ring could take, StaleVersion or TooLarge for what this one does not, and
        when the patience is over whatever the last attempt ended with, CopiesMissing among it.
        """
        _check_entry(entry)
        _check_sizes(entry, value, lease_s, version)
        request = Put(normalise(name), entry, value, lease_s, version, notify, serial=self._kernel.serial())
        return (yield from self._at_owner(request, Stored))

    def delete(self, name: str, entry: str, version: int = 0) -> Operation[Stored]:
        """Delete one entry of a record, as version 0 or a later one as in `put`; what is not there is no error."""
        _check_entry(entry)
        request = Put(normalise(name), entry, version=version, deleted=True, serial=self._kernel.serial())
        return (yield from self._at_owner(request, Stored))

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
            views = yield from ring_walk(next(iter(self._contacts)))
            for view in views:
                self._contacts.learn(view.member.address)
            return views

        return (yield from self._patiently(step))

    def _at_owner(self, request: Put | Get, expected: type[R]) -> Operation[R]:
        """Have the owner carry out a request. All attempts at a put have one serial, so that it happens once.

        A cached owner is asked at once: it refuses what it does not own. That is no lookup, and leaves no trace.
        """

        locator = self._locator

        def step() -> Operation[R]:
            owner = locator.cached(self.space.key(request.name))
            if owner is not None:
                try:
                    return (yield from call(owner, request, expected))
                except OWNER_NO_MORE:
                    locator.forget(owner)
                except FINAL:
                    raise
                except RingcastError:
                    locator.forget(owner)
                    raise
            walk, page = yield from locator.walk(request.name, request=request if isinstance(request, Get) else None)
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
                self._contacts.another_first()
                if self._kernel.now + RETRY_PAUSE_S > deadline:
                    raise
            yield from sleep(RETRY_PAUSE_S * self._kernel.rng.uniform(0.5, 1.5))


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
