"""A ring of one store: the records are production code, what is faked is the way to them."""

from __future__ import annotations

from collections.abc import Callable

from chord.effects import Operation, sleep
from chord.errors import PeerUnreachable
from chord.identifiers import IdentifierSpace
from chord.messages import Entry, Put, Stored
from chord.records import RecordStore

EXCHANGE_S = 0.01


class FakeRing:
    """Every process sees all of it, until it is `down`. `told(address, entry)` is called with every change."""

    def __init__(self, now: Callable[[], float], told: Callable[[str, Entry], None]) -> None:
        self.space = IdentifierSpace()
        self.down = False
        self._now = now
        self._told = told
        self._records = RecordStore(self.space)

    def put(
        self, name: str, entry: str, value: bytes, lease_s: float, version: int = 0, notify: str = ""
    ) -> Operation[Stored]:
        """Store one entry of a record."""
        yield from self._exchange()
        stored, _ = self._store(Put(name, entry, value, lease_s, version, notify))
        return Stored(stored.version, 1)

    def delete(self, name: str, entry: str) -> Operation[Stored]:
        """Delete one entry of a record."""
        yield from self._exchange()
        stored, _ = self._store(Put(name, entry, deleted=True))
        return Stored(stored.version, 1)

    def get(self, name: str) -> Operation[list[Entry]]:
        """The live entries of a record."""
        yield from self._exchange()
        return list(self._records.page(name, "", self._now()).entries)

    def expire(self) -> None:
        """Tell of the entries that ran out."""
        for entry in self._records.expire(self._now()):
            self._tell(entry)

    def _exchange(self) -> Operation[None]:
        yield from sleep(EXCHANGE_S)
        if self.down:
            raise PeerUnreachable("the ring is down")

    def _store(self, put: Put) -> tuple[Entry, bool]:
        entry, news = self._records.put(put, self._now())
        if news:
            self._tell(entry)
        return entry, news

    def _tell(self, entry: Entry) -> None:
        for address in self._records.registered(entry.name, self._now()):
            self._told(address, entry)
