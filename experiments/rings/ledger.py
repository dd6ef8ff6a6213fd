"""What was written to a ring that is changing, what of it was acknowledged, and what must therefore be found.

A change whose outcome is unknown may or may not have happened: of one record everything from the last acknowledged
change on may be read, and nothing older.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from chord.asking import Ring
from chord.effects import Operation, call
from chord.errors import RingcastError
from chord.identifiers import IdentifierSpace
from chord.messages import Entry, FetchArc, Page, Pointer, Stored
from experiments.rings.observer import Observer

KEPT = 60
"""Records that are read again after each round; the oldest go first."""

LEASE_S = 3_600.0
WRITE_PATIENCE_S = 5.0
READ_PATIENCE_S = 3.0
ENTRY = "e"


@dataclass
class Record:
    """One record of one entry: every value that it was given, None for a deletion, and which was acknowledged last."""

    name: str
    tried: list[bytes | None] = field(default_factory=list)
    acknowledged: int = -1
    busy: bool = False

    def may_be(self, value: bytes | None) -> bool:
        """Whether this may be read now."""
        return value in self.tried[max(0, self.acknowledged) :] or (self.acknowledged < 0 and value is None)

    def verdict(self, value: bytes | None) -> str:
        """What is wrong with what was read: `lost`, `stale`, `revived`, or nothing."""
        if self.may_be(value):
            return ""
        if value is None:
            return "lost"
        return "revived" if self.tried[self.acknowledged] is None else "stale"


class Ledger:
    """The records of one ring. `prefix` keeps their names apart from those of other ledgers."""

    def __init__(self, observer: Observer, prefix: str, rng: random.Random) -> None:
        self.records: dict[str, Record] = {}
        self.unseen: dict[str, str] = {}
        self.puts = self.acknowledged = 0
        self._observer = observer
        self._prefix = prefix
        self._rng = rng
        self._under_way = 0

    @property
    def settled(self) -> bool:
        """Whether every write has ended."""
        return not self._under_way

    def write(self, via: list[str]) -> None:
        """Begin one change: mostly a new record, else a new value or the end of one that is there."""
        rng = self._rng
        idle = [record for record in self.records.values() if not record.busy]
        if idle and rng.random() < 0.35:
            record = rng.choice(idle)
        else:
            record = Record(f"{self._prefix}/{self.puts}")
            self.records[record.name] = record
        value = None if record.tried and rng.random() < 0.3 else b"%d" % self.puts
        self.puts += 1
        self._under_way += 1
        record.tried.append(value)
        record.busy = True
        position = len(record.tried) - 1

        def ended(stored: Stored, error: RingcastError | None) -> None:
            self._under_way -= 1
            record.busy = False
            if error is not None:
                return
            self.acknowledged += 1
            if value is not None or stored.version:
                record.acknowledged = position
                return
            record.tried.pop()  # there was nothing to delete, so that nothing has changed
            if record.acknowledged >= 0 and record.tried[record.acknowledged] is not None:
                self.unseen[record.name] = f"unseen: a deletion found nothing of {record.tried}"

        self._observer.start(_change(self._observer.ring(via, WRITE_PATIENCE_S), record.name, value), ended)

    def read(self, through: Callable[[], str]) -> dict[str, str]:
        """Read every record, each through some node; what is wrong, by name."""
        records = list(self.records.values())
        found = self._observer.ask_all(
            self._observer.ring([through()], READ_PATIENCE_S).get(record.name) for record in records
        )
        wrong = {}
        for record, entries in zip(records, found, strict=True):
            if isinstance(entries, RingcastError):
                wrong[record.name] = f"unread: {entries}"
            elif verdict := record.verdict(_value(entries)):
                wrong[record.name] = (
                    f"{verdict}: {_value(entries)!r} of {record.tried}, #{record.acknowledged} acknowledged"
                )
        return wrong

    def under_copied(self, members: list[Pointer], replicas: int) -> int:
        """How many live records are not held, as they should be, by their owner and its next `replicas` - 1 members.

        `members`: all there are, in ring order, one a process.
        """
        space = IdentifierSpace()
        wanted = min(replicas, len(members))
        asked: list[tuple[Record, Operation[Page]]] = []
        for record in self.records.values():
            if record.tried[record.acknowledged] is None or record.acknowledged < 0:
                continue
            key = space.key(record.name)
            owner = min(range(len(members)), key=lambda position: space.distance(key, members[position].id))
            for step in range(wanted):
                holder = members[(owner + step) % len(members)]
                held = FetchArc((key - 1) % space.size, key)
                asked.append((record, call(holder, held, Page, attempts=2)))
        pages = self._observer.ask_all(operation for _, operation in asked)
        lacking = {
            record.name
            for (record, _), page in zip(asked, pages, strict=True)
            if isinstance(page, RingcastError)
            or not record.may_be(_value([entry for entry in page.entries if not entry.deleted]))
        }
        return len(lacking)

    def forget(self, names: list[str]) -> None:
        """Keep no account of these any more, nor of the oldest ones beyond KEPT."""
        for name in names:
            self.records.pop(name, None)
        for name in list(self.records)[: max(0, len(self.records) - KEPT)]:
            del self.records[name]


def _change(ring: Ring, name: str, value: bytes | None) -> Operation[Stored]:
    if value is None:
        return (yield from ring.delete(name, ENTRY))
    return (yield from ring.put(name, ENTRY, value, LEASE_S))


def _value(entries: list[Entry]) -> bytes | None:
    return entries[0].value if entries else None
