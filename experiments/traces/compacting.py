"""Makes few files of many small ones: a reader pays for each file, however few rows it holds."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from experiments.traces.manifest import Store
from experiments.traces.writing import COMPRESSION, ROWS_PER_FILE, ROWS_PER_GROUP

SMALL_ROWS = ROWS_PER_FILE // 4
MOST_SMALL = 8
"""So many small files of a table may there be."""


def compact(store: Store) -> int:
    """Merge the small files of each table of bronze and silver if there are many; how many files that made fewer.

    What silver does not hold yet stays apart from what it holds. The manifest is changed, and not saved.
    """
    fewer = 0
    manifest = store.manifest
    for table, files in manifest.bronze.items():
        waiting = set(manifest.pending[table])
        for group in (files.keys() - waiting, files.keys() & waiting):
            small = _small(files, sorted(group))
            merged = _merge(store, files, small)
            fewer += len(small) - len(merged)
            if group & waiting and small:
                manifest.pending[table] = [name for name in manifest.pending[table] if name not in small] + merged
    for files in manifest.silver.values():
        small = _small(files, sorted(files))
        fewer += len(small) - len(_merge(store, files, small))
    return fewer


def _small(files: dict[str, int], names: Sequence[str]) -> list[str]:
    small = [name for name in names if files[name] < SMALL_ROWS]
    return small if len(small) > MOST_SMALL else []


def _merge(store: Store, files: dict[str, int], small: Sequence[str]) -> list[str]:
    """Write the rows of these files into files of 2,000,000 rows, which take their place; the names of these."""
    merged: list[str] = []
    store.manifest.generation += bool(small)
    batches: list[pa.Table] = []
    rows = 0
    for index, name in enumerate(small):
        batches.append(pq.read_table(store.folder / name))
        rows += files.pop(name)
        if rows >= ROWS_PER_FILE or index + 1 == len(small):
            target = f"{name.rpartition('/')[0]}/{store.manifest.generation:06d}-c{len(merged):03d}.parquet"
            whole = pa.concat_tables(batches, promote_options="permissive")
            pq.write_table(whole, store.folder / target, compression=COMPRESSION, row_group_size=ROWS_PER_GROUP)
            files[target] = rows
            merged.append(target)
            batches, rows = [], 0
    return merged
