"""From raw rows to rows that count once: `RUN/parquet/silver/<table>`, of the same columns as the raw ones.

Left out are rows without what identifies them or with a negative length, and rows that are there already: a spool file
that was copied, or written twice. A sample that reached a subscriber twice was *received* twice, at two times, and
stays: those are the duplicates that an analysis counts.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from experiments.spark.literal import nothing
from experiments.traces.manifest import SILVER, Store
from experiments.traces.schema import TABLES


@dataclass(frozen=True, slots=True)
class Identity:
    """What makes two rows of a table one: columns, of which `time` says when, and what a whole row fulfils."""

    columns: tuple[str, ...]
    time: str
    whole: str


IDENTITIES = {
    "lookup": Identity(
        ("run", "trace_id", "start_us"), "start_us", "mode IS NOT NULL AND outcome IS NOT NULL AND duration_us >= 0"
    ),
    "delivery": Identity(
        ("run", "mode", "topic", "publisher", "sequence", "subscriber", "received_us"), "received_us", "sequence > 0"
    ),
    "publication": Identity(("run", "topic", "publisher", "first", "last", "at_us"), "at_us", "first <= last"),
    "event": Identity(("run", "kind", "node", "address", "at_us", "detail"), "at_us", "true"),
}


def refine(spark: SparkSession, store: Store, table: str) -> dict[str, int]:
    """Add what is pending of a table to silver: the files that were written, and the rows of each.

    The manifest is not changed.
    """
    identity = IDENTITIES[table]
    pending = store.manifest.pending[table]
    fresh = read(spark, store, table, pending).where(_whole(identity))
    earlier = _overlapping(store, table, pending, identity.time)
    if earlier:
        known = read(spark, store, table, earlier).select(*identity.columns)
        fresh = fresh.join(known, _same(fresh, known, identity.columns), "left_anti")
    if _repeats(fresh, identity):
        fresh = fresh.dropDuplicates(list(identity.columns))
    return _write(fresh, store, table)


def read(spark: SparkSession, store: Store, table: str, files: Sequence[str]) -> DataFrame:
    """Rows of some files, with every column of today; files of older versions may lack some, which are null then."""
    schema = TABLES[table].spark()
    if not files:
        return nothing(spark, schema)
    return spark.read.schema(schema).parquet(*store.paths(list(files)))


def _whole(identity: Identity) -> Column:
    whole = f.expr(identity.whole)
    for column in identity.columns:
        if column != "detail":
            whole = whole & f.col(column).isNotNull()
    return whole


def _same(one: DataFrame, other: DataFrame, columns: Sequence[str]) -> Column:
    same = f.lit(True)
    for column in columns:
        same = same & one[column].eqNullSafe(other[column])
    return same


def _repeats(fresh: DataFrame, identity: Identity) -> bool:
    """Whether any row may be twice, by a hash of what identifies it: hardly ever, and only then all are compared."""
    hashed = fresh.select(f.xxhash64(*identity.columns).alias("id"))
    return bool(hashed.groupBy("id").count().where(f.col("count") > 1).limit(1).count())


def _overlapping(store: Store, table: str, pending: Sequence[str], time: str) -> list[str]:
    """The files of silver from the time of what is pending, as Parquet's footers say: no other can hold the same."""
    spans = [span for name in pending if (span := _span(store.folder / name, time)) is not None]
    if not spans:
        return []
    first, last = min(low for low, _ in spans), max(high for _, high in spans)
    earlier = [(name, _span(store.folder / name, time)) for name in store.manifest.silver[table]]
    return [name for name, span in earlier if span is not None and span[0] <= last and span[1] >= first]


def _span(path: Path, column: str) -> tuple[int, int] | None:
    """The least and the greatest value of a column; None of a file that has none."""
    footer = pq.read_metadata(path)
    found: list[tuple[int, int]] = []
    for group in range(footer.num_row_groups):
        for index in range(footer.num_columns):
            chunk = footer.row_group(group).column(index)
            if chunk.path_in_schema == column and chunk.statistics is not None and chunk.statistics.has_min_max:
                found.append((chunk.statistics.min, chunk.statistics.max))
    return (min(low for low, _ in found), max(high for _, high in found)) if found else None


def _write(frame: DataFrame, store: Store, table: str) -> dict[str, int]:
    """Write a frame beside what silver holds; the names and the rows of its files."""
    target = store.folder / SILVER / table
    beside = target / f"{store.manifest.generation:06d}.new"
    frame.write.mode("overwrite").option("compression", "zstd").parquet(str(beside))
    written: dict[str, int] = {}
    for part in sorted(beside.glob("*.parquet")):
        path = target / f"{store.manifest.generation:06d}-{len(written):03d}.parquet"
        rows = pq.read_metadata(part).num_rows
        if rows:
            part.rename(path)
            written[str(path.relative_to(store.folder))] = rows
    shutil.rmtree(beside)
    return written
