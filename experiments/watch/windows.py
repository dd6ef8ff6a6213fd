"""The windowed table: `OUT/watch/windows/*.parquet`, a file a window, a row a run, kind of trace and mode.

A file is replaced whole, and tells which batch of the stream it was brought up to. A batch that is done again after a
kill passes over the windows that have it: so each row counts once, in any of its windows, whenever the kill came.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from experiments.analysis.histogram import middle_us
from experiments.ranks import mean, percentile
from experiments.traces.damaged import counted_anew, undamaged
from experiments.traces.writing import COMPRESSION

FOLDER = "windows"
BATCH = b"ringcast.batch"

_HISTOGRAM = pa.map_(pa.int32(), pa.int64())

SCHEMA = pa.schema(
    [
        ("window_start", pa.timestamp("us", tz="UTC")),
        ("window_end", pa.timestamp("us", tz="UTC")),
        ("source", pa.string()),
        ("run", pa.string()),
        ("what", pa.string()),
        ("mode", pa.string()),
        ("count", pa.int64()),
        ("failed", pa.int64()),
        ("timeouts", pa.int64()),
        ("hops_mean", pa.float64()),
        ("hops_p50", pa.int32()),
        ("hops_p99", pa.int32()),
        ("latency_us_mean", pa.float64()),
        ("latency_us_p50", pa.int64()),
        ("latency_us_p99", pa.int64()),
        ("latency_us_max", pa.int64()),
        ("latency_us_total", pa.int64()),
        ("hops", _HISTOGRAM),
        ("latency_buckets", _HISTOGRAM),
        ("updated", pa.timestamp("us", tz="UTC")),
    ]
)


class Cell(msgspec.Struct, kw_only=True, frozen=True):
    """What one batch counted of one window: rows of one kind, with one number of hops and one bucket of latency."""

    window_us: int
    run: str
    source: str
    what: str
    mode: str
    ok: bool
    hops: int | None
    bucket: int
    count: int
    timeouts: int
    total_us: int
    max_us: int


class Window(msgspec.Struct, kw_only=True):
    """One row of the table. Hops and latencies are those of lookups that were answered, and of all deliveries.

    `hops` is exact, `buckets` is of 64 buckets an octave (`experiments.analysis.histogram`). Times in microseconds
    since the epoch, or since the start of a run with a virtual clock.
    """

    start_us: int
    end_us: int
    source: str
    run: str
    what: str
    mode: str
    count: int = 0
    failed: int = 0
    timeouts: int = 0
    total_us: int = 0
    max_us: int = 0
    hops: dict[int, int] = {}
    buckets: dict[int, int] = {}
    updated_us: int = 0

    def add(self, cell: Cell) -> None:
        """Count what a batch found."""
        self.count += cell.count
        self.timeouts += cell.timeouts
        if not cell.ok:
            self.failed += cell.count
            return
        self.total_us += cell.total_us
        self.max_us = max(self.max_us, cell.max_us) if self.buckets else cell.max_us
        self.buckets[cell.bucket] = self.buckets.get(cell.bucket, 0) + cell.count
        if cell.hops is not None:
            self.hops[cell.hops] = self.hops.get(cell.hops, 0) + cell.count

    def figures(self) -> dict[str, int | float | None]:
        """Means and percentiles, null where there is nothing that they could be of."""
        found: dict[str, int | float | None] = dict.fromkeys(
            ("hops_mean", "hops_p50", "hops_p99", "latency_us_mean", "latency_us_p50", "latency_us_p99")
        )
        if self.hops:
            found["hops_mean"] = round(mean(self.hops), 4)
            found["hops_p50"], found["hops_p99"] = percentile(self.hops, 0.50), percentile(self.hops, 0.99)
        if self.buckets:
            found["latency_us_mean"] = round(self.total_us / sum(self.buckets.values()), 1)
            for name, share in (("latency_us_p50", 0.50), ("latency_us_p99", 0.99)):
                found[name] = min(self.max_us, middle_us(percentile(self.buckets, share)))
        return found | {"latency_us_max": self.max_us if self.buckets else None}


class Windows:
    """The folder `windows` in `place`, of windows of `length_us`; `counted` rows went into it through this object."""

    def __init__(self, place: Path, length_us: int) -> None:
        self.folder = place / FOLDER
        self.counted = 0
        self._length_us = length_us
        self.folder.mkdir(parents=True, exist_ok=True)
        for torn in self.folder.glob(".*.new"):
            torn.unlink()

    def add(self, batch: int, cells: Iterable[Cell]) -> list[Window]:
        """Count what this batch found, unless that was done; the rows that this changed."""
        by_window: dict[int, list[Cell]] = defaultdict(list)
        for cell in cells:
            by_window[cell.window_us].append(cell)
        changed: list[Window] = []
        for start_us, own in sorted(by_window.items()):
            changed += self._add(batch, start_us, own)
        return changed

    def latest(self, most: int) -> list[Window]:
        """The rows of the latest `most` windows."""
        paths = sorted(self.folder.glob("*.parquet"))[-most:]
        return [window for path in paths for window in _read(path)[1]]

    def _add(self, batch: int, start_us: int, cells: Sequence[Cell]) -> list[Window]:
        path = self.folder / f"{start_us:020d}.parquet"
        done, windows = _read(path) if path.exists() else (-1, [])
        if done >= batch:
            return []
        rows = {(window.run, window.source, window.what, window.mode): window for window in windows}
        changed: dict[tuple[str, ...], Window] = {}
        for cell in cells:
            key = cell.run, cell.source, cell.what, cell.mode
            if key not in rows:
                end_us = start_us + self._length_us
                rows[key] = Window(
                    start_us=start_us,
                    end_us=end_us,
                    source=cell.source,
                    run=cell.run,
                    what=cell.what,
                    mode=cell.mode,
                )
            rows[key].add(cell)
            self.counted += cell.count
            changed[key] = rows[key]
        for window in changed.values():
            window.updated_us = time.time_ns() // 1000
        _write(path, batch, [rows[key] for key in sorted(rows)])
        return [changed[key] for key in sorted(changed)]


def as_row(window: Window) -> dict[str, Any]:
    """A row as `--json` prints it: the columns of the table without its histograms."""
    row = _columns(window)
    for name in ("hops", "latency_buckets", "latency_us_total"):
        del row[name]
    for name in ("window_start", "window_end", "updated"):
        row[name] = datetime.fromtimestamp(row[name] / 1e6, UTC).isoformat().replace("+00:00", "Z")
    return row


def _columns(window: Window) -> dict[str, Any]:
    values: dict[str, Any] = {
        "window_start": window.start_us,
        "window_end": window.end_us,
        "latency_us_total": window.total_us,
        "hops": window.hops,
        "latency_buckets": window.buckets,
        "updated": window.updated_us,
        **{name: getattr(window, name) for name in ("source", "run", "what", "mode", "count", "failed", "timeouts")},
        **window.figures(),
    }
    return {name: values[name] for name in SCHEMA.names}


def _write(path: Path, batch: int, windows: Sequence[Window]) -> None:
    columns = [_columns(window) for window in windows]
    for row in columns:
        row["hops"], row["latency_buckets"] = (sorted(row[name].items()) for name in ("hops", "latency_buckets"))
    table = pa.Table.from_pylist(columns, SCHEMA.with_metadata({BATCH: str(batch).encode()}))
    fresh = path.with_name(f".{path.name}.new")
    pq.write_table(table, fresh, compression=COMPRESSION)
    fresh.replace(path)


def _read(path: Path) -> tuple[int, list[Window]]:
    """The batch that a file was brought up to, and its rows."""
    with undamaged(path, counted_anew(path.parent.parent)):
        table = pq.read_table(path)
    for name in ("window_start", "window_end", "updated"):
        table = table.set_column(table.column_names.index(name), name, table[name].cast(pa.int64()))
    return int(table.schema.metadata[BATCH]), [_window(row) for row in table.to_pylist()]


def _window(row: Mapping[str, Any]) -> Window:
    return Window(
        start_us=row["window_start"],
        end_us=row["window_end"],
        total_us=row["latency_us_total"],
        max_us=row["latency_us_max"] or 0,
        hops=dict(row["hops"]),
        buckets=dict(row["latency_buckets"]),
        updated_us=row["updated"],
        **{name: row[name] for name in ("source", "run", "what", "mode", "count", "failed", "timeouts")},
    )
