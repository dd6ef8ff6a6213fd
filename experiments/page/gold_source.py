"""The gold tables that an analysis leaves as Parquet, partitioned by run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from experiments.page import rows
from experiments.page.material import Material
from experiments.traces.run import BadRun

GOLD = "gold"
TABLES: dict[str, type[rows.Row]] = {
    "hops": rows.Hops,
    "lookups": rows.Lookups,
    "lookup_latency": rows.LookupLatency,
    "delivery": rows.Delivery,
    "flows": rows.Flow,
    "timeline": rows.Second,
    "failover": rows.Failover,
    "consistency": rows.Owners,
    "node_load": rows.NodeLoad,
    "hot_keys": rows.HotKey,
    "slowest": rows.Slowest,
    "wire": rows.Wire,
}


def holds(place: Path) -> bool:
    """Whether an analysis left gold tables here."""
    return (place / GOLD).is_dir()


def add(material: Material, place: Path) -> None:
    """Read every table there is; each takes the place of what summary.json told of the same, but for the owners that
    only the run itself could check. Raises BadRun."""
    for name, row in TABLES.items():
        folder = place / GOLD / name
        if any(folder.glob("*/*.parquet")):
            before = material.consistency if name == "consistency" else []
            setattr(material, name, [*before, *_read(folder, row)])


def _read(folder: Path, row: type[rows.Row]) -> list[rows.Row]:
    from pyarrow import ArrowException, dataset, schema, string

    try:
        by_run = dataset.partitioning(schema([("run", string())]), flavor="hive")
        found: list[dict[str, Any]] = dataset.dataset(folder, partitioning=by_run).to_table().to_pylist()
        return [msgspec.convert(_known(each), row, strict=False) for each in found]
    except (ArrowException, OSError, msgspec.ValidationError) as error:
        raise BadRun(f"{folder} cannot be read ({error}); analyse the run again") from None


def _known(row: dict[str, Any]) -> dict[str, Any]:
    """Nulls left out, so that defaults hold."""
    return {name: value for name, value in row.items() if value is not None}
