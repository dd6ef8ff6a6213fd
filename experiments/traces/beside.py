"""What some runs leave beside their traces: hop counts of static rings, and packets as they were seen on the wire."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from experiments.traces.run import BadRun, Part

AGGREGATES = "aggregates.parquet"
WIRE = "wire.parquet"


def beside(part: Part) -> list[Path]:
    """Those of these files that there are."""
    return [path for name in (AGGREGATES, WIRE) if (path := part.traces.parent / name).exists()]


def aggregates(part: Part) -> list[dict[str, Any]]:
    """Rows of hops and how many lookups took so many, of a static ring. Raises BadRun."""
    return _rows(part, AGGREGATES, ("mode", "hops", "count"))


def wire(part: Part) -> list[dict[str, Any]]:
    """A row a sample: its latency by the clocks of the applications, and on the wire. Raises BadRun."""
    return _rows(part, WIRE, ("topic", "sequence", "app_us", "wire_us"))


def _rows(part: Part, name: str, needed: tuple[str, ...]) -> list[dict[str, Any]]:
    path = part.traces.parent / name
    if not path.exists():
        return []
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise BadRun(f"{path} cannot be read ({error}); remove it, or run its cell again") from None
    missing = [column for column in needed if column not in table.column_names]
    if missing:
        raise BadRun(f"{path} lacks {', '.join(missing)}; remove it, or run its cell again")
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows
