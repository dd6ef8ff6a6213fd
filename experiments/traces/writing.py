"""The Parquet files of one ingestion: one a table, a new one after 2,000,000 rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import pyarrow as pa
import pyarrow.parquet as pq

from experiments.traces.schema import Table

ROWS_PER_GROUP = 100_000
ROWS_PER_FILE = 2_000_000
COMPRESSION = "zstd"


class Writers:
    """Files named after the ingestion's generation; `written` says how many rows each of them holds."""

    def __init__(self, folder: Path, generation: int) -> None:
        self.written: dict[str, dict[str, int]] = {}
        self._folder = folder
        self._generation = generation
        self._open: dict[str, tuple[str, pq.ParquetWriter]] = {}

    def __enter__(self) -> Writers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for _, writer in self._open.values():
            writer.close()

    def open(self, tables: Sequence[Table]) -> None:
        """Begin a file of each, so that there is one even without rows."""
        for table in tables:
            self._writer(table)

    def write(self, table: Table, batch: pa.RecordBatch) -> None:
        """Append one row group."""
        name, writer = self._writer(table)
        writer.write_batch(batch, row_group_size=ROWS_PER_GROUP)
        self.written[table.name][name] += batch.num_rows
        if self.written[table.name][name] >= ROWS_PER_FILE:
            self._open.pop(table.name)[1].close()

    def _writer(self, table: Table) -> tuple[str, pq.ParquetWriter]:
        if table.name not in self._open:
            files = self.written.setdefault(table.name, {})
            name = f"{table.name}/{self._generation:06d}-{len(files):03d}.parquet"
            path = self._folder / name
            path.parent.mkdir(exist_ok=True)
            self._open[table.name] = name, pq.ParquetWriter(path, table.arrow(), compression=COMPRESSION)
            files[name] = 0
        return self._open[table.name]
