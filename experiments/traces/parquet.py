"""From spool files to Parquet, one folder a table (the bronze layer): `RUN/parquet/<table>/*.parquet`.

Rows stay as they were written; only those in the wrong form are left out, and counted. What was read before is not read
again: an ingestion adds one file a table with the rows of new spool files, and of what old ones grew by. Memory holds
one spool file and one row group a table.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from experiments.traces.changes import Change, changes, read
from experiments.traces.compacting import compact
from experiments.traces.forgetting import forget
from experiments.traces.manifest import PARQUET, PartSeen, Seen, Store, told
from experiments.traces.run import RunInfo, parts
from experiments.traces.schema import TABLES, Table
from experiments.traces.spools import Damage, Row
from experiments.traces.writing import ROWS_PER_GROUP, Writers

__all__ = ["PARQUET", "Ingested", "ingest", "silent"]

Progress = Callable[[int, int], None]
"""Called with the bytes read so far and the bytes there are to read."""


def silent(done: int, total: int) -> None:
    """Progress for nobody."""


@dataclass(slots=True)
class Ingested:
    """What a run holds: rows a table, and what had to be passed over; and what this ingestion read of it."""

    rows: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TABLES, 0))
    files: int = 0
    bytes_read: int = 0
    damage: Damage = field(default_factory=Damage)


def ingest(run: Path, progress: Progress = silent) -> Ingested:
    """Bring `run/parquet` up to what its spool files hold. Raises BadRun."""
    found = parts(run)
    store = Store(run)
    manifest = store.manifest
    plan = changes(found, manifest)
    total = sum(change.bytes for change in plan.read)
    result = Ingested()
    forget(store, plan.stale)
    if plan.read or not all(manifest.bronze.values()):
        manifest.generation += 1
        with _no_collector(), Writers(store.folder, manifest.generation) as writers:
            writers.open([table for table in TABLES.values() if not manifest.bronze[table.name]])
            _ingest(plan.read, store, writers, result, lambda: progress(result.bytes_read, total))
        for name, files in writers.written.items():
            manifest.bronze[name].update(files)
            manifest.pending[name] += [file for file, rows in files.items() if rows]
        compact(store)
        store.save()
    result.rows = manifest.rows()
    result.damage.add(manifest.damage())
    return result


def _ingest(
    plan: Sequence[Change], store: Store, writers: Writers, result: Ingested, report: Callable[[], None]
) -> None:
    """Read what is new, part by part, and keep what was read in the manifest."""
    pending: dict[type, list[Row]] = {table.row: [] for table in TABLES.values()}
    for index, change in enumerate(plan):
        info = change.part.info
        seen = store.manifest.parts.setdefault(info.run, PartSeen(told=told(info)))
        reading, beginning = read(change)
        for row in reading.rows:
            pending[type(row)].append(row)
        settled = seen.spools[change.name].settled if change.start else Damage()
        settled.add(reading.settled)
        last = index + 1 == len(plan) or plan[index + 1].part is not change.part
        for table in TABLES.values():
            settled.bad_rows += _write(table, pending[table.row], 1 if last else ROWS_PER_GROUP, info, writers)
        if reading.settled.unreadable:  # another ingestion may have more luck
            result.damage.add(reading.settled)
        else:
            seen.spools[change.name] = Seen(
                end=reading.end,
                size=change.size,
                changed_ns=change.changed_ns,
                head=beginning,
                settled=settled,
                open=reading.open,
            )
        result.files += 1
        result.bytes_read += change.bytes
        report()


def _write(table: Table, pending: list[Row], least: int, run: RunInfo, writers: Writers) -> int:
    """Write row groups while `least` rows or more are pending, and take them off; how many were in the wrong form."""
    bad = 0
    while len(pending) >= least:
        rows, pending[:ROWS_PER_GROUP] = pending[:ROWS_PER_GROUP], []
        bad += len(rows)
        for batch in _batches(table, rows, run):
            writers.write(table, batch)
            bad -= batch.num_rows
    return bad


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
