"""What clients were promised of records, and whether what they read keeps it.

Each write carries a version of its own, higher than all before it. A write that failed may have happened all the same,
or happen yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from chord.messages import Entry

Place = tuple[str, str]
"""Name and entry id."""


@dataclass(slots=True)
class _Written:
    """The values of an entry by version, None for a deletion; `acknowledged` is the highest that was."""

    values: list[bytes | None] = field(default_factory=list)
    acknowledged: int = 0


class Ledger:
    """The writes of a run, by name and entry id."""

    def __init__(self) -> None:
        self._written: dict[Place, _Written] = {}
        self.acknowledged = 0

    def write(self, place: Place, value: bytes | None) -> int:
        """Note a write, None being a deletion, that is about to be sent; returns its version."""
        written = self._written.setdefault(place, _Written())
        written.values.append(value)
        return len(written.values)

    def acknowledge(self, place: Place, version: int) -> None:
        """Note that a write was acknowledged."""
        written = self._written[place]
        written.acknowledged = max(written.acknowledged, version)
        self.acknowledged += 1

    def promised(self, name: str) -> dict[Place, int]:
        """The highest acknowledged version of each entry under a name: what a read from now on must not fall behind."""
        return {place: written.acknowledged for place, written in self._written.items() if place[0] == name}

    @property
    def names(self) -> list[str]:
        """Every name that was written to."""
        return list(dict.fromkeys(name for name, _ in self._written))

    def acknowledged_versions(self) -> dict[Place, int]:
        """The highest acknowledged version of each entry, a deletion too: what is known of it must not be lost."""
        return {place: written.acknowledged for place, written in self._written.items() if written.acknowledged}

    def judge(self, promised: dict[Place, int], read: Sequence[Entry]) -> list[str]:
        """What is wrong with the entries that a read found, given what was promised when it began."""
        found = {(entry.name, entry.entry): entry for entry in read}
        faults = [f"{place} was never written" for place in found if place not in self._written]
        for place, floor in promised.items():
            fault = self._fault(place, floor, found.get(place))
            if fault:
                faults.append(fault)
        return faults

    def _fault(self, place: Place, floor: int, found: Entry | None) -> str:
        values = self._written[place].values
        if found is None:
            if floor and None not in values[floor - 1 :]:
                return f"{place} is gone; version {floor} was acknowledged"
            return ""
        if found.version > len(values):
            return f"{place} has version {found.version}; {len(values)} is the last that was written"
        if values[found.version - 1] != found.value:
            return f"{place} has {found.value!r} as version {found.version}, not {values[found.version - 1]!r}"
        if found.version < floor:
            return f"{place} has version {found.version}; version {floor} was acknowledged"
        return ""
