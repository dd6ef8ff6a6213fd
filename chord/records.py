"""The leased records of one process: higher versions win, leases only shrink, the dead stay dead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import mmh3

from chord.errors import StaleVersion, TooLarge
from chord.identifiers import IdentifierSpace, between_right
from chord.limits import (
    MAX_ENTRIES_PER_PAGE,
    MAX_ENTRIES_PER_RECORD,
    MAX_LEASE_S,
    MAX_PAGE_BYTES,
    MAX_RECORDS,
    MAX_STORE_BYTES,
    MAX_VERSION,
    MAX_VERSION_STEP,
)
from chord.messages import Entry, Page, Put

ENTRY_BYTES = 512
"""What an entry takes beside its value, about."""


@dataclass(frozen=True, slots=True)
class _Held:
    """An entry with its lease as a time of this process's monotonic clock."""

    version: int
    value: bytes
    expires_at: float
    guard_until: float
    notify: str
    deleted: bool

    @property
    def size(self) -> int:
        """Bytes, without the names, which have a limit of their own."""
        return ENTRY_BYTES + len(self.value) + len(self.notify)

    def live(self, now: float) -> bool:
        return not self.deleted and now < self.expires_at


def _differ(before: _Held | None, after: _Held, now: float) -> bool:
    """Whether those registered are to hear of it: not of a renewed lease, or another version of the same.

    Nor of what registers an address itself: among thousands, each that comes would have to be told to all the others.
    """
    if before is None or before.notify or not before.live(now):
        return after.live(now) and not after.notify
    return not after.live(now) or (before.value, before.notify) != (after.value, after.notify)


def _newer(held: _Held, offered: _Held) -> _Held:
    """Which of two copies of one entry is kept, a function of both that does not depend on their order."""
    guard = max(held.guard_until, offered.guard_until)
    if held.version != offered.version:
        winner = held if held.version > offered.version else offered
        return replace(winner, guard_until=guard)
    # Two halves of a split may have counted to the same version: a deletion wins, then the greater value.
    if (held.deleted, held.value, held.notify) != (offered.deleted, offered.value, offered.notify):
        winner = max(held, offered, key=lambda copy: (copy.deleted, copy.value, copy.notify))
        return replace(winner, guard_until=guard)
    return replace(held, expires_at=min(held.expires_at, offered.expires_at), guard_until=guard)


def _version(put: Put, held: _Held | None) -> int:
    """The version that a put is stored as. Raises StaleVersion, TooLarge."""
    current = held.version if held else 0
    if put.deleted and current == MAX_VERSION and put.version in (0, MAX_VERSION):
        return MAX_VERSION
    version = put.version or current + 1
    refused = f"put of {put.entry!r} under {put.name!r} refused"
    if version > MAX_VERSION:
        raise TooLarge(f"{refused}: {current} is the last version there is")
    if version - current > MAX_VERSION_STEP:
        raise TooLarge(
            f"{refused}: version {version} was offered and {current} is held, from which it may grow by "
            f"{MAX_VERSION_STEP} at a time; version 0 counts on"
        )
    if version < current or (version == current and not _is_again(put, held)):
        raise StaleVersion(f"{refused}: version {version} is not newer than {current}")
    return version


def _is_again(put: Put, held: _Held | None) -> bool:
    """Whether a put is what is held already, sent once more."""
    return held is not None and (held.value, held.deleted, held.notify) == (put.value, put.deleted, put.notify)


class RecordStore:
    """Records by name, each a table of entries by id.

    An entry that expired or was deleted is kept, unseen, for as long as an older version of it may still be alive in
    some copy: `guard_until` is the latest expiry that any version of it ever had.
    """

    def __init__(self, space: IdentifierSpace) -> None:
        self._space = space
        self._records: dict[str, dict[str, _Held]] = {}
        self._keys: dict[str, int] = {}
        self._bytes = 0
        self.changes = 0
        """How often an entry was changed, or renewed."""

    def put(self, put: Put, now: float) -> tuple[Entry, bool]:
        """Apply a put or a deletion as the key's owner.

        Returns the entry as it is held then, and whether those registered are to hear of it. Raises StaleVersion when
        `put.version` is not newer than what is held, TooLarge when a limit is met. What has the last version there is
        can still be deleted: a deletion wins over what else has its version.
        """
        held = self._records.get(put.name, {}).get(put.entry)
        version = _version(put, held)
        if put.deleted and (held is None or not held.live(now)) and put.version == 0:
            return self._travelling(put.name, put.entry, held, now), False
        expires = now + put.lease_s
        # A version that somebody names may be one more than what is held elsewhere, on the other side of a split.
        unknown = now + MAX_LEASE_S if put.deleted and put.version else expires
        guard = max(expires, held.guard_until if held else unknown)
        new = _Held(version, put.value, expires, guard, put.notify, put.deleted)
        if held is not None and version == held.version:
            new = _newer(held, new)
        self._keep(put.name, put.entry, new)
        return self._travelling(put.name, put.entry, new, now), _differ(held, new, now)

    def merge(self, entry: Entry, now: float) -> bool:
        """Take in a copy; returns whether those registered are to hear of it. None extends a lease of its version."""
        offered = _Held(
            entry.version,
            entry.value,
            now + entry.lease_s,
            now + max(entry.guard_s, entry.lease_s),
            entry.notify,
            entry.deleted,
        )
        # What its guard no longer holds may be forgotten elsewhere, where versions are counted from 1 again.
        if now >= offered.guard_until:
            return False
        held = self._records.get(entry.name, {}).get(entry.entry)
        if held is not None and now >= held.guard_until:
            held = None
        new = offered if held is None else _newer(held, offered)
        if new == held:
            return False
        self._keep(entry.name, entry.entry, new)
        return _differ(held, new, now)

    def page(self, name: str, after: str, now: float) -> Page:
        """The live entries of a record with ids greater than `after`, in order, as much as one page takes."""
        record = self._records.get(name, {})
        found = (
            self._travelling(name, entry, record[entry], now)
            for entry in sorted(entry for entry in record if entry > after)
            if record[entry].live(now)
        )
        return _page(found)

    def arc(self, low: int, high: int, after: tuple[str, str], now: float) -> Page:
        """Every entry, dead ones too, with a key in (low, high], in order of (name, entry id), from after `after`."""
        found = (
            self._travelling(name, entry, self._records[name][entry], now)
            for name in sorted(name for name in self._in_arc(low, high) if name >= after[0])
            for entry in sorted(self._records[name])
            if (name, entry) > after
        )
        return _page(found)

    def digest(self, low: int, high: int) -> int:
        """A number that two stores share when they hold the same versions in the arc (low, high]."""
        total = 0
        for name in self._in_arc(low, high):
            for entry, held in self._records[name].items():
                identity = f"{name}\0{entry}\0{held.version}\0{held.deleted}\0{held.notify}\0".encode()
                total ^= mmh3.mmh3_x64_128_uintdigest(identity + held.value, 0)
        return total & (2**64 - 1)

    def find(self, name: str, entry: str, now: float) -> Entry | None:
        """One entry as it is held now, dead or not, or None."""
        held = self._records.get(name, {}).get(entry)
        return None if held is None else self._travelling(name, entry, held, now)

    def registered(self, name: str, now: float) -> list[str]:
        """The addresses that want to hear of changes to a record."""
        record = self._records.get(name, {})
        return sorted({held.notify for held in record.values() if held.notify and held.live(now)})

    def expire(self, now: float) -> list[Entry]:
        """Forget what no copy can bring back; returns as deletions what ran out and those registered are to hear of."""
        lapsed = []
        for name in list(self._records):
            record = self._records[name]
            for entry in list(record):
                held = record[entry]
                if now >= held.expires_at and not held.deleted:
                    self._bytes -= held.size
                    heard_of = not held.notify
                    record[entry] = held = replace(held, deleted=True, value=b"", notify="")
                    self._bytes += held.size
                    if heard_of:
                        lapsed.append(self._travelling(name, entry, held, now))
                if now >= held.guard_until:
                    self._bytes -= held.size
                    del record[entry]
            if not record:
                del self._records[name]
                del self._keys[name]
        return lapsed

    def _keep(self, name: str, entry: str, held: _Held) -> None:
        record = self._records.get(name)
        if record is None:
            if len(self._records) >= MAX_RECORDS:
                raise TooLarge(f"record {name!r} refused: this process holds {MAX_RECORDS} records already")
            self._keys[name] = self._space.key(name)
            record = self._records[name] = {}
        if entry not in record and len(record) >= MAX_ENTRIES_PER_RECORD:
            raise TooLarge(f"entry {entry!r} refused: record {name!r} holds {MAX_ENTRIES_PER_RECORD} entries already")
        before = record.get(entry)
        growth = held.size - (before.size if before else 0)
        if growth > 0 and self._bytes + growth > MAX_STORE_BYTES:
            raise TooLarge(f"entry {entry!r} of {name!r} refused: this process holds {self._bytes} bytes already")
        self._bytes += growth
        self.changes += 1
        record[entry] = held

    def _in_arc(self, low: int, high: int) -> Iterator[str]:
        return (name for name, key in self._keys.items() if between_right(low, key, high))

    def _travelling(self, name: str, entry: str, held: _Held | None, now: float) -> Entry:
        if held is None:
            return Entry(name, entry, 0, b"", 0.0, deleted=True)
        return Entry(
            name,
            entry,
            held.version,
            held.value,
            _left_s(held.expires_at, now),
            held.notify,
            held.deleted,
            _left_s(held.guard_until, now),
        )


def _left_s(until: float, now: float) -> float:
    """What is left of a lease. Rounding must not take it over the limit that its receiver checks."""
    return min(MAX_LEASE_S, max(0.0, until - now))


def _page(found: Iterable[Entry]) -> Page:
    entries: list[Entry] = []
    size = 0
    for entry in found:
        size += (
            len(entry.value) + len(entry.name.encode()) + len(entry.entry.encode()) + len(entry.notify.encode()) + 64
        )
        if entries and (size > MAX_PAGE_BYTES or len(entries) >= MAX_ENTRIES_PER_PAGE):
            return Page(tuple(entries), more=True)
        entries.append(entry)
    return Page(tuple(entries), more=False)
