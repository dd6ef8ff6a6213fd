"""From spool files to Parquet, one folder a table (the bronze layer): `RUN/parquet/<table>/part-*.parquet`.

Rows stay as they were written; only those in the wrong form are dropped, and counted. Memory holds one spool file and
one row group a table. A second ingestion replaces the first.
"""

from __future__ import annotations

import gc
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import pyarrow as pa
import pyarrow.parquet as pq

from experiments.traces.run import BadRun, Part, RunInfo, parts
from experiments.traces.schema import TABLES, Table
from experiments.traces.spools import Damage, Row, read_spool

PARQUET = "parquet"
ROWS_PER_GROUP = 100_000
ROWS_PER_FILE = 2_000_000

Progress = Callable[[int, int], None]
"""Called with the bytes read so far and the bytes there are."""


def silent(done: int, total: int) -> None:
    """Progress for nobody."""


@dataclass(slots=True)
class Ingested:
    """What an ingestion read and wrote: rows a table, spool files, bytes read, and what it had to pass over."""

    rows: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TABLES, 0))
    files: int = 0
    bytes_read: int = 0
    damage: Damage = field(default_factory=Damage)


def ingest(run: Path, progress: Progress = silent) -> Ingested:
    """Rebuild `run/parquet` from every spool file of the run. Raises BadRun."""
    found = parts(run)
    total = sum(_size(path) for part in found for path in part.spools())
    fresh = run / (PARQUET + ".new")
    try:
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir()
    except OSError as error:
        raise BadRun(f"{run} cannot be written ({error.strerror}); copy it to a place that can") from None
    result = Ingested()
    with _no_collector(), _Writers(fresh) as writers:
        for part in found:
            _ingest_part(part, writers, result, lambda: progress(result.bytes_read, total))
    shutil.rmtree(run / PARQUET, ignore_errors=True)
    fresh.rename(run / PARQUET)
    return result


def _ingest_part(part: Part, writers: _Writers, result: Ingested, report: Callable[[], None]) -> None:
    pending: dict[type, list[Row]] = {table.row: [] for table in TABLES.values()}
    for path in part.spools():
        for row in read_spool(path, result.damage):
            pending[type(row)].append(row)
        for table in TABLES.values():
            _write(table, pending[table.row], ROWS_PER_GROUP, part.info, writers, result)
        result.files += 1
        result.bytes_read += _size(path)
        report()
    for table in TABLES.values():
        _write(table, pending[table.row], 1, part.info, writers, result)


def _write(table: Table, pending: list[Row], least: int, run: RunInfo, writers: _Writers, result: Ingested) -> None:
    """Write row groups while `least` rows or more are pending, and take them off."""
    while len(pending) >= least:
        rows, pending[:ROWS_PER_GROUP] = pending[:ROWS_PER_GROUP], []
        written = 0
        for batch in _batches(table, rows, run):
            writers.write(table, batch)
            written += batch.num_rows
        result.rows[table.name] += written
        result.damage.bad_rows += len(rows) - written


def _batches(table: Table, rows: Sequence[Row], run: RunInfo) -> Iterator[pa.RecordBatch]:
    """Arrow batches of the rows whose values fit their columns. Halves what fails, so a few bad rows cost little."""
    try:
        yield table.batch(rows, run)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):
        if len(rows) > 1:
            yield from _batches(table, rows[: len(rows) // 2], run)
            yield from _batches(table, rows[len(rows) // 2 :], run)


@contextmanager
def _no_collector() -> Iterator[None]:
    """Trace rows hold no cycles, and a million of them make the cycle collector a third of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


class _Writers:
    """One growing Parquet file a table; a new one after 2,000,000 rows. Every table has at least an empty file."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._open: dict[str, pq.ParquetWriter] = {}
        self._rows = dict.fromkeys(TABLES, 0)
        self._files = dict.fromkeys(TABLES, 0)

    def __enter__(self) -> _Writers:
        for table in TABLES.values():
            self._writer(table)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for writer in self._open.values():
            writer.close()

    def write(self, table: Table, batch: pa.RecordBatch) -> None:
        """Append one row group."""
        if self._rows[table.name] >= ROWS_PER_FILE:
            self._open.pop(table.name).close()
            self._rows[table.name] = 0
        self._writer(table).write_batch(batch, row_group_size=ROWS_PER_GROUP)
        self._rows[table.name] += batch.num_rows

    def _writer(self, table: Table) -> pq.ParquetWriter:
        writer = self._open.get(table.name)
        if writer is None:
            path = self._directory / table.name / f"part-{self._files[table.name]:05d}.parquet"
            path.parent.mkdir(exist_ok=True)
            writer = self._open[table.name] = pq.ParquetWriter(path, table.arrow(), compression="zstd")
            self._files[table.name] += 1
        return writer
