"""What both halves of a split ring write, and what must be read of it when they are one again."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from functools import partial

from broker.local_ring import Node
from chord.errors import RingcastError
from chord.messages import Stored
from experiments.rings.lan import SIDES
from experiments.rings.observer import Observer

SHARED = 40
"""Records written before the cut, which both halves change during it."""

WRITES_A_ROUND = 4
PATIENCE_S = 5.0
ONCE_S = 0.0
"""Writes are not repeated: else nobody knew under which versions, and in which half, their values are held."""

LEASE_S = 3_600.0


@dataclass
class Record:
    """One record: the changes acknowledged as (version, deleted, value), and those of which nobody knows."""

    known: list[tuple[int, bool, bytes]] = field(default_factory=list)
    unknown: list[bytes | None] = field(default_factory=list)
    sides: set[str] = field(default_factory=set)

    @property
    def winner(self) -> bytes | None:
        """What has to be read in the end, None for nothing: the highest version, of equal ones a deletion."""
        _, deleted, value = max(self.known, default=(0, True, b""))
        return None if deleted else value


class SplitRecords:
    """Written through the `nodes` of each side by its observer. `writes` and `acknowledged` count changes by side."""

    def __init__(self, nodes: dict[str, list[Node]], observers: dict[str, Observer], rng: random.Random) -> None:
        self.records: dict[str, Record] = {}
        self.writes = dict.fromkeys(SIDES, 0)
        self.acknowledged = dict.fromkeys(SIDES, 0)
        self._nodes = nodes
        self._observers = observers
        self._rng = rng
        self._under_way = 0

    @property
    def settled(self) -> bool:
        """Whether every write has ended."""
        return not self._under_way

    def begin(self) -> None:
        """Write what both halves are going to change."""
        for number in range(SHARED):
            self._write("left", f"shared/{number}", PATIENCE_S)

    def write(self, side: str) -> None:
        """Have one half change shared records and make new ones."""
        for number in range(WRITES_A_ROUND):
            shared = f"shared/{self._rng.randrange(SHARED)}"
            self._write(side, shared if number % 2 else f"{side}/{self.writes[side]}", ONCE_S)

    def wrong(self) -> dict[str, str]:
        """Which records some node does not find as they should be, asked from the left host."""
        wrong = {}
        observer = self._observers["left"]
        for node in self._nodes["left"] + self._nodes["right"]:
            found = observer.ask_all(observer.ring([node.address], PATIENCE_S).get(name) for name in self.records)
            for (name, record), entries in zip(self.records.items(), found, strict=True):
                if isinstance(entries, RingcastError):
                    wrong[name] = f"unread through {node.address}: {entries}"
                    continue
                value = entries[0].value if entries else None
                if value != record.winner and value not in record.unknown:
                    wrong[name] = f"{value!r} through {node.address}, not {record.winner!r}; known {record.known}"
        return wrong

    def _write(self, side: str, name: str, patience_s: float) -> None:
        record = self.records.setdefault(name, Record())
        count = self.writes[side] = self.writes[side] + 1
        value = None if name.startswith("shared/") and record.known and self._rng.random() < 0.2 else b"%d" % count
        via = [node.address for node in self._rng.sample(self._nodes[side], 2)]
        observer = self._observers[side]
        ring = observer.ring(via, patience_s)
        change = ring.delete(name, "e") if value is None else ring.put(name, "e", value, LEASE_S)
        self._under_way += 1
        observer.start(change, partial(self._written, side, record, value))

    def _written(
        self, side: str, record: Record, value: bytes | None, stored: Stored, error: RingcastError | None
    ) -> None:
        self._under_way -= 1
        if error is None:
            record.known.append((stored.version, value is None, value or b""))
            record.sides.add(side)
            self.acknowledged[side] += 1
        else:
            record.unknown.append(value)
