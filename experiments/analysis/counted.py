"""What is counted of the rows of a run, so that it can be added up: new rows alone are counted, then merged in.

Each is a table of a few thousand rows whatever the run, held as Arrow. Merged in any order and any grouping they are
the same, which is why an analysis of a run that grew gives what one from scratch gives.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from experiments.analysis.schemas import COLUMNS


@dataclass(frozen=True, slots=True)
class Counted:
    """A table: its keys, and how values of equal keys are put together: `sum`, `min`, `max`, or `or` for bitmaps."""

    keys: tuple[str, ...]
    values: dict[str, str]


@dataclass(frozen=True, slots=True)
class Longest:
    """A table of rows, of which each run keeps `most`: those of the greatest `by`, ties in the order of `then`."""

    by: str
    then: tuple[str, ...]
    most: int


TABLES: dict[str, Counted | Longest] = {
    "cells": Counted(
        ("run", "mode", "outcome", "hops"),
        {"count": "sum", "timeouts": "sum", "total_us": "sum", "max_us": "max", "after_kill": "sum"},
    ),
    "lookup_latency": Counted(("run", "mode", "step", "bucket"), {"count": "sum"}),
    "edges": Counted(("run", "via", "node", "address"), {"exchanges": "sum", "timeouts": "sum"}),
    "slowest": Longest("duration_us", ("start_us", "trace_id"), 20),
    "blocks": Counted(
        ("run", "mode", "topic", "publisher", "subscriber", "block"),
        {
            "first": "min",
            "last": "max",
            "delivered": "sum",
            "bits": "or",
            "total_us": "sum",
            "max_us": "max",
            "after_kill": "sum",
            "resumed_us": "min",
        },
    ),
    "by_subscriber": Counted(("run", "subscriber", "bucket"), {"count": "sum"}),
    "by_topic": Counted(("run", "mode", "topic", "bucket"), {"count": "sum"}),
    "publications": Counted(("run", "topic", "publisher"), {"first": "min", "last": "max"}),
    "seconds": Counted(("run", "what", "kind", "second"), {"count": "sum", "first_us": "min", "last_us": "max"}),
    "after": Counted(("run", "at_us", "kind"), {"count": "sum", "first_us": "min", "last_us": "max"}),
}


def merged(name: str, tables: Sequence[pa.Table]) -> pa.Table:
    """Tables of this name put together, in the order of their keys."""
    kind = TABLES[name]
    whole = pa.concat_tables([table.select(COLUMNS[name].names).cast(COLUMNS[name]) for table in tables])
    if isinstance(kind, Longest):
        return _longest(whole, kind)
    bitmaps = [column for column, how in kind.values.items() if how == "or"]
    sums = [(column, how) for column, how in kind.values.items() if how != "or"]
    grouped = whole.group_by(list(kind.keys), use_threads=False).aggregate(sums)
    grouped = grouped.rename_columns([*kind.keys, *(column for column, _ in sums)])
    grouped = grouped.sort_by([(key, "ascending") for key in kind.keys])
    for column in bitmaps:
        grouped = grouped.append_column(column, _united(whole, grouped, kind.keys, column))
    return grouped.select(COLUMNS[name].names).cast(COLUMNS[name])


def _united(whole: pa.Table, grouped: pa.Table, keys: Sequence[str], column: str) -> pa.Array:
    """For each group the union of its bitmaps."""
    union: dict[tuple[object, ...], bytes] = {}
    for key, bits in zip(_tuples(whole, keys), whole[column].to_pylist(), strict=True):
        earlier = union.get(key)
        union[key] = bits if earlier is None else _either(earlier, bits)
    return pa.array([union[key] for key in _tuples(grouped, keys)], pa.binary())


def _either(one: bytes, other: bytes) -> bytes:
    size = max(len(one), len(other))
    return (int.from_bytes(one, "little") | int.from_bytes(other, "little")).to_bytes(size, "little")


def _tuples(table: pa.Table, keys: Sequence[str]) -> list[tuple[object, ...]]:
    return list(zip(*(table[key].to_pylist() for key in keys), strict=True))


def _longest(whole: pa.Table, kind: Longest) -> pa.Table:
    order = [("run", "ascending"), (kind.by, "descending"), *((column, "ascending") for column in kind.then)]
    rows = whole.sort_by(order)
    seen: dict[str, int] = defaultdict(int)
    kept = []
    for run in rows["run"].to_pylist():
        kept.append(seen[run] < kind.most)
        seen[run] += 1
    return rows.filter(pa.array(kept, pa.bool_()))


def only(table: pa.Table, run: str) -> pa.Table:
    """The rows of one run."""
    return table.filter(pc.equal(table["run"], run))
