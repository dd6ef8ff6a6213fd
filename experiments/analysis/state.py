"""Everything that is counted of a run so far: `RUN/parquet/state/<generation>/`, one small Parquet file a table.

What is known of each key is a folder beside them, which may be large and is read by Spark alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from experiments.analysis.schemas import COLUMNS, OF_KEYS
from experiments.traces.manifest import STATE, Store
from experiments.traces.writing import COMPRESSION


@dataclass(slots=True)
class State:
    """The tables of counted.py by name, those made of what is known of each key, and the folder of all."""

    tables: dict[str, pa.Table]
    of_keys: dict[str, pa.Table]
    folder: Path | None


def load(store: Store) -> State:
    """What is kept; tables without rows if nothing is."""
    folder = None if store.manifest.state is None else store.folder / STATE / store.manifest.state
    return State(
        {name: _read(folder, name, schema) for name, schema in COLUMNS.items()},
        {name: _read(folder, name, schema) for name, schema in OF_KEYS.items()},
        folder,
    )


def save(state: State, folder: Path) -> None:
    """Write the small tables; those of other generations go once the manifest names this one."""
    for name, table in {**state.tables, **state.of_keys}.items():
        pq.write_table(table, folder / f"{name}.parquet", compression=COMPRESSION)


def _read(folder: Path | None, name: str, schema: pa.Schema) -> pa.Table:
    if folder is None:
        return schema.empty_table()
    return pq.read_table(folder / f"{name}.parquet").cast(schema)
