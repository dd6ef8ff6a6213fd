"""Takes the rows of runs out of every Parquet file that was made of them, for parts that were run again."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from experiments.traces.manifest import STATE, Store
from experiments.traces.writing import COMPRESSION


def forget(store: Store, runs: Collection[str]) -> None:
    """Have bronze, silver and state hold nothing of these runs; the manifest is saved once that is so."""
    manifest = store.manifest
    known = [run for run in runs if run in manifest.parts]
    if not known:
        return
    manifest.generation += 1
    for layer in (manifest.bronze, manifest.silver):
        for table, files in layer.items():
            for name in list(files):
                kept = _without(store, name, known)
                if kept is not None:
                    fresh, rows = kept
                    del files[name]
                    files[fresh] = rows
                    manifest.pending[table] = [fresh if each == name else each for each in manifest.pending[table]]
    if manifest.state is not None:
        before, manifest.state = store.folder / STATE / manifest.state, f"{manifest.generation:06d}"
        for path in sorted(before.rglob("*.parquet")):
            target = store.folder / STATE / manifest.state / path.relative_to(before)
            target.parent.mkdir(parents=True, exist_ok=True)
            _copy(path, target, known)
    for run in known:
        del manifest.parts[run]
    store.save()


def _without(store: Store, name: str, runs: list[str]) -> tuple[str, int] | None:
    """A file beside this one without the rows of these runs; None if it holds none of them."""
    path = store.folder / name
    held = pq.read_table(path, columns=["run"])["run"]
    if not pc.any(pc.is_in(held, pa.array(runs, pa.string()))).as_py():
        return None
    fresh = path.with_name(f"{path.stem.partition('+')[0]}+{store.manifest.generation:06d}.parquet")
    return str(fresh.relative_to(store.folder)), _copy(path, fresh, runs)


def _copy(path: Path, target: Path, runs: list[str]) -> int:
    """Copy a file, row group by row group, without the rows of these runs; how many rows are left."""
    rows = 0
    with pq.ParquetFile(path) as source, pq.ParquetWriter(target, source.schema_arrow, compression=COMPRESSION) as sink:
        for batch in source.iter_batches():
            kept = batch.filter(pc.invert(pc.is_in(batch["run"], pa.array(runs, pa.string()))))
            if kept.num_rows:
                sink.write_batch(kept)
                rows += kept.num_rows
    return rows
