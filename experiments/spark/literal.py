"""Small tables that come from this process, as parts of a query: no job, no file, no worker."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StructType


def literal(spark: SparkSession, rows: Sequence[Sequence[object]], schema: str) -> DataFrame:
    """A row each, of columns as `schema` names them: `run string, at_us long`."""
    columns = [part.split() for part in schema.split(",")]
    structs = [
        f.struct(*(f.lit(value).cast(kind).alias(name) for value, (name, kind) in zip(row, columns, strict=True)))
        for row in rows
    ]
    return spark.range(1).select(f.inline(f.array(*structs)))


def nothing(spark: SparkSession, schema: StructType) -> DataFrame:
    """No rows of these columns."""
    return spark.range(0).select(*(f.lit(None).cast(field.dataType).alias(field.name) for field in schema))
