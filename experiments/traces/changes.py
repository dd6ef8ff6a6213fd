"""What an ingestion has to read: new spool files, what old ones grew by, and all of a part that is another one now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from experiments.traces.manifest import Manifest, PartSeen, head, told
from experiments.traces.run import Part
from experiments.traces.spools import Damage, Reading, read_on


@dataclass(frozen=True, slots=True)
class Change:
    """One spool file, by its name without the ending, to be read from byte `start` on, and how it was before that."""

    part: Part
    path: Path
    name: str
    start: int
    size: int
    changed_ns: int

    @property
    def bytes(self) -> int:
        """How many there are to read, or more if it grows meanwhile."""
        return max(0, self.size - self.start)


@dataclass(slots=True)
class Changes:
    """What to read, part by part; and the runs whose rows are out of date, or of which nothing is there any more."""

    read: list[Change] = field(default_factory=list)
    stale: set[str] = field(default_factory=set)


def changes(found: Sequence[Part], manifest: Manifest) -> Changes:
    """Compare what is there with what was read."""
    result = Changes(stale=set(manifest.parts) - {part.info.run for part in found})
    for part in found:
        spools = part.spools()
        seen = manifest.parts.get(part.info.run)
        if seen is not None and _is_another(part, spools, seen):
            result.stale.add(part.info.run)
            seen = None
        for path in spools:
            change = _change(part, path, seen)
            if change is not None:
                result.read.append(change)
    return result


def read(change: Change) -> tuple[Reading, int]:
    """What there is to read of it, and the checksum of how the file begins.

    Of a file that went away meanwhile there is nothing, and it is unreadable.
    """
    reading = read_on(change.path, change.start)
    try:
        return reading, head(change.path, reading.end)
    except FileNotFoundError:
        gone = Damage(unreadable=[f"{change.path.name}: it went away"])
        return Reading([], change.start, gone, Damage()), 0


def _is_another(part: Part, spools: Sequence[Path], seen: PartSeen) -> bool:
    """Whether the part was run again, or told otherwise, or lost or replaced a file."""
    there = {path.stem: path for path in spools}
    if seen.told != told(part.info) or set(seen.spools) - set(there):
        return True
    for name, file in seen.spools.items():
        path = there[name]
        try:
            if path.stat().st_size < file.end or head(path, file.end) != file.head:
                return True
        except FileNotFoundError:  # its writer gives it its final name at this moment
            continue
    return False


def _change(part: Part, path: Path, seen: PartSeen | None) -> Change | None:
    file = None if seen is None else seen.spools.get(path.stem)
    start = 0 if file is None else file.end
    try:
        status = path.stat()
    except FileNotFoundError:  # its writer gives it its final name at this moment
        return Change(part, path, path.stem, start, 0, 0)
    if file is not None and (status.st_size, status.st_mtime_ns) == (file.size, file.changed_ns):
        return None
    return Change(part, path, path.stem, start, status.st_size, status.st_mtime_ns)
