"""The leased records of one process: higher versions win, leases only shrink, the dead stay dead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from chord.errors import TooLarge
from chord.held import Held, differ, newer, version_of
from chord.identifiers import IdentifierSpace, between_right
from chord.limits import (
    MAX_ENTRIES_PER_PAGE,
    MAX_ENTRIES_PER_RECORD,
    MAX_LEASE_S,
    MAX_PAGE_BYTES,
    MAX_RECORDS,
    MAX_STORE_BYTES,
)
from chord.messages import Entry, Page, Put


class RecordStore:
    """Records by name, each a table of entries by id.

    An entry that expired or was deleted is kept, unseen, for as long as an older version of it may still be alive in
    some copy: `guard_until` is the latest expiry that any version of it ever had.
    """

    def __init__(self, space: IdentifierSpace) -> None:
        self._space = space
        self._records: dict[str, dict[str, Held]] = {}
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
        version = version_of(put, held)
        if put.deleted and (held is None or not held.live(now)) and put.version == 0:
            return self._travelling(put.name, put.entry, held, now), False
        expires = now + put.lease_s
        # A version that somebody names may be one more than what is held elsewhere, on the other side of a split.
        unknown = now + MAX_LEASE_S if put.deleted and put.version else expires
        guard = max(expires, held.guard_until if held else unknown)
        new = Held(version, put.value, expires, guard, put.notify, put.deleted)
        if held is not None and version == held.version:
            new = newer(held, new)
        self._keep(put.name, put.entry, new)
        return self._travelling(put.name, put.entry, new, now), differ(held, new, now)

    def merge(self, entry: Entry, now: float) -> bool:
        """Take in a copy; returns whether those registered are to hear of it. None extends a lease of its version."""
        offered = Held(
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
        new = offered if held is None else newer(held, offered)
        if new == held:
            return False
        self._keep(entry.name, entry.entry, new)
        return differ(held, new, now)

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
                total ^= held.digest(name, entry)
        return total

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

    def _keep(self, name: str, entry: str, held: Held) -> None:
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

    def _travelling(self, name: str, entry: str, held: Held | None, now: float) -> Entry:
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
