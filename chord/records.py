"""The leased records of one process: higher versions win, leases only shrink, the dead stay dead."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable
from dataclasses import replace

from chord.errors import TooLarge
from chord.held import Held, differ, newer, outdates, served, version_of
from chord.identifiers import IdentifierSpace
from chord.limits import (
    MAX_ENTRIES_PER_PAGE,
    MAX_ENTRIES_PER_RECORD,
    MAX_LEASE_S,
    MAX_PAGE_BYTES,
    MAX_RECORDS,
    MAX_STORE_BYTES,
)
from chord.messages import Entry, Page, Put
from chord.ring_order import RingOrder

SERIAL_BYTES = 20
"""Of one on the wire, at most, rounded up: two numbers of nine bytes, and what holds them."""


class _Record:
    """The entries of one name by id, and their ids in order."""

    __slots__ = ("entries", "ids", "key")

    def __init__(self, key: int) -> None:
        self.key = key
        self.entries: dict[str, Held] = {}
        self.ids: list[str] = []

    def after(self, entry: str) -> list[str]:
        return self.ids[bisect_right(self.ids, entry) :]


class RecordStore:
    """Records by name, each a table of entries by id.

    An entry that expired or was deleted is kept, unseen, for as long as an older version of it may still be alive in
    some copy: `guard_until` is the latest expiry that any version of it ever had.
    """

    def __init__(self, space: IdentifierSpace) -> None:
        self._space = space
        self._records: dict[str, _Record] = {}
        self._order = RingOrder()
        self._bytes = 0
        self.changes = 0
        """How often an entry was changed, or renewed."""

    def put(self, put: Put, now: float) -> tuple[Entry, bool]:
        """Apply a put or a deletion as the key's owner.

        Returns the entry as it is held then, and whether those registered are to hear of it. Raises StaleVersion when
        `put.version` is not newer than what is held, TooLarge when a limit is met. What has the last version there is
        can still be deleted: a deletion wins over what else has its version.
        """
        held = self._held(put.name, put.entry)
        if held is not None and held.has_served(put.serial):
            return self._travelling(put.name, put.entry, held, now), False
        version = version_of(put, held)
        if put.deleted and (held is None or not held.live(now)) and put.version == 0:
            return self._travelling(put.name, put.entry, held, now), False
        expires = now + put.lease_s
        # A version that somebody names may be one more than what is held elsewhere, on the other side of a split.
        unknown = now + MAX_LEASE_S if put.deleted and put.version else expires
        guard = max(expires, held.guard_until if held else unknown)
        new = Held(version, put.value, expires, guard, put.notify, put.deleted, served(put, held))
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
            entry.served,
        )
        # What its guard no longer holds may be forgotten elsewhere, where versions are counted from 1 again.
        if now >= offered.guard_until:
            return False
        held = self._held(entry.name, entry.entry)
        if held is not None and now >= held.guard_until:
            held = None
        new = offered if held is None else newer(held, offered)
        if new == held:
            return False
        self._keep(entry.name, entry.entry, new)
        return differ(held, new, now)

    def outdates(self, entry: Entry, now: float) -> bool:
        """Whether something newer is held than this entry, which has been merged. Not what may be forgotten."""
        held = self._held(entry.name, entry.entry)
        return held is not None and now < held.guard_until and outdates(held, entry)

    def page(self, name: str, after: str, now: float) -> Page:
        """The live entries of a record with ids greater than `after`, in order, as much as one page takes."""
        record = self._records.get(name)
        if record is None:
            return Page((), more=False)
        found = (
            self._travelling(name, entry, held, now)
            for entry in record.after(after)
            if (held := record.entries[entry]).live(now)
        )
        return _page(found)

    def arc(self, low: int, high: int, after: tuple[str, str], now: float) -> Page:
        """Every entry, dead ones too, with a key in (low, high], from after the name and entry id `after`.

        In the order of key from low on, name, entry id. Raises InvalidName for an `after` that nothing is stored under.
        """
        name, entry = after
        key = self._space.key(name) if name else (low + 1) % self._space.size
        found = (
            self._travelling(each, entry_id, self._records[each].entries[entry_id], now)
            for each in self._order.names(low, high, key, name)
            for entry_id in self._records[each].after(entry if each == name else "")
        )
        return _page(found)

    def digest(self, low: int, high: int) -> int:
        """A number that two stores share when they hold the same versions in the arc (low, high]."""
        return self._order.digest(low, high)

    def digests(self, low: int, high: int) -> list[tuple[int, int]]:
        """The keys in (low, high] under which something is held, in ring order, each with such a number."""
        return list(self._order.digests(low, high))

    def key_after(self, key: int) -> int | None:
        """The next key on the ring walk under which something is held, at last that key itself; None for nothing."""
        return self._order.key_after(key)

    def find(self, name: str, entry: str, now: float) -> Entry | None:
        """One entry as it is held now, dead or not, or None."""
        held = self._held(name, entry)
        return None if held is None else self._travelling(name, entry, held, now)

    def registered(self, name: str, now: float) -> list[str]:
        """The addresses that want to hear of changes to a record."""
        record = self._records.get(name)
        held = record.entries.values() if record else ()
        return sorted({each.notify for each in held if each.notify and each.live(now)})

    def expire(self, now: float) -> list[Entry]:
        """Forget what no copy can bring back; returns as deletions what ran out and those registered are to hear of."""
        lapsed = []
        for name, record in list(self._records.items()):
            for entry, held in list(record.entries.items()):
                if now >= held.expires_at and not held.deleted:
                    dead = replace(held, deleted=True, value=b"", notify="")
                    self._replace(name, entry, record, dead)
                    if not held.notify:
                        lapsed.append(self._travelling(name, entry, dead, now))
                if now >= held.guard_until:
                    self._forget(name, entry, record)
        return lapsed

    def _held(self, name: str, entry: str) -> Held | None:
        record = self._records.get(name)
        return None if record is None else record.entries.get(entry)

    def _keep(self, name: str, entry: str, held: Held) -> None:
        record = self._records.get(name)
        if record is None and len(self._records) >= MAX_RECORDS:
            raise TooLarge(f"record {name!r} refused: this process holds {MAX_RECORDS} records already")
        before = None if record is None else record.entries.get(entry)
        if record is not None and before is None and len(record.ids) >= MAX_ENTRIES_PER_RECORD:
            raise TooLarge(f"entry {entry!r} refused: record {name!r} holds {MAX_ENTRIES_PER_RECORD} entries already")
        growth = held.size - (before.size if before else 0)
        if growth > 0 and self._bytes + growth > MAX_STORE_BYTES:
            raise TooLarge(f"entry {entry!r} of {name!r} refused: this process holds {self._bytes} bytes already")
        if record is None:
            key = self._space.key(name)
            record = self._records[name] = _Record(key)
            self._order.add(key, name)
        self.changes += 1
        self._replace(name, entry, record, held)

    def _replace(self, name: str, entry: str, record: _Record, held: Held) -> None:
        before = record.entries.get(entry)
        difference = held.digest(name, entry)
        self._bytes += held.size
        if before is None:
            insort(record.ids, entry)
        else:
            difference ^= before.digest(name, entry)
            self._bytes -= before.size
        record.entries[entry] = held
        self._order.change(record.key, difference)

    def _forget(self, name: str, entry: str, record: _Record) -> None:
        held = record.entries.pop(entry)
        self._bytes -= held.size
        del record.ids[bisect_left(record.ids, entry)]
        self._order.change(record.key, held.digest(name, entry))
        if not record.ids:
            del self._records[name]
            self._order.remove(record.key, name)

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
            held.served,
        )


def _left_s(until: float, now: float) -> float:
    """What is left of a lease. Rounding must not take it over the limit that its receiver checks."""
    return min(MAX_LEASE_S, max(0.0, until - now))


def _page(found: Iterable[Entry]) -> Page:
    entries: list[Entry] = []
    size = 0
    for entry in found:
        texts = len(entry.name.encode()) + len(entry.entry.encode()) + len(entry.notify.encode())
        size += len(entry.value) + texts + 64 + SERIAL_BYTES * len(entry.served)
        if entries and (size > MAX_PAGE_BYTES or len(entries) >= MAX_ENTRIES_PER_PAGE):
            return Page(tuple(entries), more=True)
        entries.append(entry)
    return Page(tuple(entries), more=False)
