"""The tables that figures are made of: `OUT/gold/<table>/run=<run>/part-0.parquet`, a partition a run.

A run that is analysed again replaces its own partitions if anything of it changed, or of them, and leaves the others
alone; so runs are added to the same folder one after the other.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote
from zlib import crc32

import msgspec
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from experiments.analysis.counts import Counts
from experiments.analysis.gold_rows import COLUMNS, rows_of
from experiments.analysis.gold_schema import schema
from experiments.analysis.state import State
from experiments.traces.beside import beside
from experiments.traces.manifest import Manifest
from experiments.traces.run import BadRun, Part
from experiments.traces.writing import COMPRESSION

GOLD = "gold"
KEPT_FILE = "runs.json"


class File(msgspec.Struct, frozen=True):
    """A file as it was written."""

    size: int
    changed_ns: int


class Kept(msgspec.Struct, frozen=True):
    """A run in the folder: the run directory that it is of, a checksum of all that it was made from, and its files."""

    of: str
    made: int
    files: dict[str, File] = {}


def write(out: Path, run: Path, found: Sequence[Part], manifest: Manifest, state: State, counts: Counts) -> list[str]:
    """Write the partitions of the parts of one run directory; the names of those that were written. Raises BadRun."""
    folder = out / GOLD
    folder.mkdir(parents=True, exist_ok=True)
    kept = _kept(folder)
    of = str(run.resolve())
    names = {part.info.run for part in found}
    for name in [name for name, each in kept.items() if each.of == of and name not in names]:
        _remove(folder, name)
        del kept[name]
    written = []
    for part in found:
        name = part.info.run
        made = Kept(of, _made_from(part, manifest), _files(folder, name))
        if name in kept and kept[name].of != of:
            raise BadRun(f"{out} holds a run {name!r} of {kept[name].of} already; give another --out, or remove it")
        if kept.get(name) == made:
            continue
        _write(folder, name, rows_of(part, state, counts))
        kept[name] = msgspec.structs.replace(made, files=_files(folder, name))
        written.append(name)
    fresh = folder / (KEPT_FILE + ".new")
    fresh.write_bytes(msgspec.json.encode(kept))
    fresh.replace(folder / KEPT_FILE)
    return written


def read(out: Path, table: str) -> pa.Table:
    """One table of all runs, `run` its first column; without rows if no run has any."""
    folder = out / GOLD / table
    if not any(folder.glob("run=*/*.parquet")):
        return schema(table, with_run=True).empty_table()
    partitioning = ds.partitioning(pa.schema([("run", pa.string())]), flavor="hive")
    found = ds.dataset(folder, schema=schema(table, with_run=True), format="parquet", partitioning=partitioning)
    return found.to_table()


def _write(folder: Path, run: str, tables: dict[str, pa.Table]) -> None:
    """Put the rows of each table in the place of those that are there, by a rename; a table without any has no file."""
    for table, rows in tables.items():
        partition = _partition(folder, table, run)
        if not rows.num_rows:
            shutil.rmtree(partition, ignore_errors=True)
            continue
        partition.mkdir(parents=True, exist_ok=True)
        fresh = partition / ".part-0.parquet.new"
        pq.write_table(rows, fresh, compression=COMPRESSION)
        path = fresh.replace(partition / "part-0.parquet")
        for other in set(partition.iterdir()) - {path}:
            other.unlink()


def _files(folder: Path, run: str) -> dict[str, File]:
    """The files of a run that a reader would read."""
    found = {}
    for table in COLUMNS:
        for path in _partition(folder, table, run).glob("*.parquet"):
            status = path.stat()
            found[str(path.relative_to(folder))] = File(status.st_size, status.st_mtime_ns)
    return found


def _remove(folder: Path, run: str) -> None:
    for table in COLUMNS:
        shutil.rmtree(_partition(folder, table, run), ignore_errors=True)


def _partition(folder: Path, table: str, run: str) -> Path:
    return folder / table / f"run={quote(run, safe='')}"


def _made_from(part: Part, manifest: Manifest) -> int:
    """A checksum of what is known of the part, and of what was read of it."""
    seen = manifest.parts.get(part.info.run)
    others = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in beside(part)]
    return crc32(msgspec.json.encode([sorted(COLUMNS), part.info, seen, others]))


def _kept(folder: Path) -> dict[str, Kept]:
    try:
        return msgspec.json.decode((folder / KEPT_FILE).read_bytes(), type=dict[str, Kept])
    except (OSError, msgspec.DecodeError):
        for path in folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
        return {}
