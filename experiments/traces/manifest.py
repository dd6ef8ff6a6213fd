"""What of a run has been read so far: `RUN/parquet/manifest.json`, by which a second analysis reads only what is new.

It is replaced whole after the files that it names are written. Files beside it that it does not name were left by an
analysis that was interrupted, and are removed by the next one.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import msgspec

from experiments.traces.run import BadRun, RunInfo
from experiments.traces.schema import RUN_COLUMNS, TABLES
from experiments.traces.spools import Damage

PARQUET = "parquet"
FILE = "manifest.json"
VERSION = 1
HEAD_BYTES = 256
"""So many bytes of the beginning of a spool file tell whether it is still the same one."""

SILVER = "silver"
STATE = "state"


class Seen(msgspec.Struct, kw_only=True):
    """A spool file as it was read: up to `end`, when it had so many bytes and was changed last at `changed_ns`."""

    end: int
    size: int
    changed_ns: int
    head: int
    settled: Damage
    open: Damage


class PartSeen(msgspec.Struct, kw_only=True):
    """A part of the run: what its run.json said of its rows, and its spool files by name, without the ending."""

    told: int
    spools: dict[str, Seen] = {}


class Manifest(msgspec.Struct, kw_only=True):
    """Everything that was read and made of it.

    `bronze` and `silver`: the rows of each file of each table, by the file's path in the folder of the manifest.
    `pending`: files of bronze that silver does not hold yet. `state` names the folder of what was counted so far.
    `sizes`: the bytes of each of all these files.
    """

    version: int = VERSION
    generation: int = 0
    parts: dict[str, PartSeen] = {}
    bronze: dict[str, dict[str, int]] = msgspec.field(default_factory=lambda: {name: {} for name in TABLES})
    silver: dict[str, dict[str, int]] = msgspec.field(default_factory=lambda: {name: {} for name in TABLES})
    pending: dict[str, list[str]] = msgspec.field(default_factory=lambda: {name: [] for name in TABLES})
    state: str | None = None
    sizes: dict[str, int] = {}

    def rows(self) -> dict[str, int]:
        """Rows of each table of bronze."""
        return {table: sum(files.values()) for table, files in self.bronze.items()}

    def damage(self) -> Damage:
        """What was passed over in all spool files, and in which of them."""
        total = Damage()
        for part in self.parts.values():
            for name, seen in sorted(part.spools.items()):
                total.add(seen.settled)
                total.add(seen.open)
                if seen.settled or seen.open:
                    total.files.append(name)
        return total

    def files(self) -> Iterator[str]:
        """The paths of all files in use, but those of the state."""
        for layer in (self.bronze, self.silver):
            for files in layer.values():
                yield from files


def folder_of(run: Path) -> Path:
    """The folder `RUN/parquet`, made unless it is there. Raises BadRun when it cannot be written."""
    folder = run / PARQUET
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise BadRun(f"{run} cannot be written ({error.strerror}); copy it to a place that can") from None
    return folder


class Store:
    """The folder `RUN/parquet`, and the manifest in it, for one process at a time. Raises BadRun like `folder_of`."""

    def __init__(self, run: Path, manifest: Manifest | None = None) -> None:
        self.folder = folder_of(run)
        self.manifest = self._load() if manifest is None else manifest
        self._sweep()

    def paths(self, files: list[str]) -> list[str]:
        """Those files, for whoever reads them."""
        return [str(self.folder / name) for name in files]

    def save(self) -> None:
        """Replace the manifest, whole or not at all, and remove what it does not name any more."""
        self.manifest.sizes = {name: (self.folder / name).stat().st_size for name in self._in_use()}
        fresh = self.folder / (FILE + ".new")
        fresh.write_bytes(msgspec.json.encode(self.manifest))
        fresh.replace(self.folder / FILE)
        self._sweep()

    def _in_use(self) -> Iterator[str]:
        """The paths of all files in use, in the folder."""
        yield from self.manifest.files()
        if self.manifest.state is not None:
            for path in (self.folder / STATE / self.manifest.state).rglob("*.parquet"):
                yield str(path.relative_to(self.folder))

    def _load(self) -> Manifest:
        """The manifest, or an empty one if there is none of this version that can be read and whose files are whole.

        So what was damaged or removed is made again from the traces, and all the rest with it.
        """
        try:
            manifest = msgspec.json.decode((self.folder / FILE).read_bytes(), type=Manifest)
        except (OSError, msgspec.DecodeError):
            return Manifest()
        whole = manifest.version == VERSION and all(
            self._is_whole(name, manifest.sizes.get(name)) for name in {*manifest.files(), *manifest.sizes}
        )
        return manifest if whole else Manifest()

    def _is_whole(self, name: str, size: int | None) -> bool:
        """Whether the file is there, and as long as it was; nobody knows how long those of older manifests were."""
        path = self.folder / name
        return path.is_file() and size in (None, path.stat().st_size)

    def _sweep(self) -> None:
        known = set(self.manifest.files())
        for path in sorted(self.folder.rglob("*.parquet")):
            relative = path.relative_to(self.folder)
            if relative.parts[0] != STATE and str(relative) not in known:
                path.unlink()
        states = self.folder / STATE
        for path in states.iterdir() if states.exists() else ():
            if path.name != self.manifest.state:
                shutil.rmtree(path)


def told(info: RunInfo) -> int:
    """A checksum of what run.json says that goes into the rows, or into what is counted of them."""
    names = {column.name for column in RUN_COLUMNS} | {"kill_us", "primary_kill_us", "started_us", "faults"}
    return crc32(msgspec.json.encode([getattr(info, name) for name in sorted(names)]))


def head(path: Path, end: int) -> int:
    """A checksum of how a spool file begins that was read up to `end`: its header tells who began it, and when.

    Also of one that its writer renames from `.part` to `.trace` at this moment. Raises FileNotFoundError if it is gone.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        file = path.with_suffix(".trace").open("rb")
    with file:
        return crc32(file.read(min(HEAD_BYTES, end)))
