"""What lookups said of each key: how often it was asked for, and whether two owners were named for it at once.

A run may ask for as many keys as it has lookups, so what is known of each stays in Spark, as Parquet in the state of
the run; only the hottest keys, and sums, come back.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f

from experiments.analysis.lookups import OK

HOTTEST = 100
KEYS = ("run", "key", "owner")
VALUES = {"lookups": "sum", "first_us": "min", "last_us": "max", "name": "max"}
FOLDER = "keys"


def counted(lookup: DataFrame) -> DataFrame:
    """One row a key and owner that was named for it: lookups, and the first and the last time that one ended so.

    The owner is null for lookups that failed.
    """
    ended = f.expr("start_us + duration_us")
    owner = f.when(f.col("outcome") == OK, f.col("owner")).alias("owner")
    return lookup.groupBy("run", "key", owner).agg(
        f.count("*").alias("lookups"),
        f.min(ended).alias("first_us"),
        f.max(ended).alias("last_us"),
        f.max("name").alias("name"),
    )


def merged(spark: SparkSession, fresh: DataFrame, before: Path | None) -> DataFrame:
    """The same with what was counted earlier."""
    if before is None or not (before / FOLDER).exists():
        return fresh
    both = spark.read.schema(fresh.schema).parquet(str(before / FOLDER)).unionByName(fresh)
    return both.groupBy(*KEYS).agg(*(getattr(f, how)(name).alias(name) for name, how in VALUES.items()))


def write(frame: DataFrame, state: Path) -> None:
    """Keep it as a folder of the state."""
    frame.write.mode("overwrite").option("compression", "zstd").parquet(str(state / FOLDER))
    for path in state.joinpath(FOLDER).iterdir():
        if path.suffix != ".parquet":
            path.unlink()


def carry(before: Path | None, state: Path) -> None:
    """Keep it unchanged."""
    if before is not None and (before / FOLDER).exists():
        shutil.copytree(before / FOLDER, state / FOLDER)


def hottest(keys: DataFrame) -> DataFrame:
    """The keys that each run asked for most: `lookups`, and how many owners were named."""
    every = keys.groupBy("run", "key").agg(
        f.sum("lookups").alias("lookups"), f.count("owner").alias("owners"), f.max("name").alias("name")
    )
    order = Window.partitionBy("run").orderBy(f.desc("lookups"), "key")
    ranked = every.withColumn("rank", f.row_number().over(order)).where(f.col("rank") <= HOTTEST)
    return ranked.select("run", "rank", "key", "name", "lookups", "owners")


def owned(keys: DataFrame) -> DataFrame:
    """One row an owner: lookups that named it, keys, and the lookups for the key that was asked of it most."""
    return (
        keys.where("owner IS NOT NULL")
        .groupBy("run", f.col("owner").alias("node"))
        .agg(f.sum("lookups").alias("owned"), f.count("*").alias("keys"), f.max("lookups").alias("hottest"))
    )


def consistency(keys: DataFrame) -> DataFrame:
    """One row a run: keys with one owner, with several one after the other (`moved`), with several at once
    (`conflicting`: the times overlap at which two owners were named), and their lookups that named another owner than
    the most named one (`lookups_conflicting`)."""
    owner = f.when(
        f.col("owner").isNotNull(), f.struct("first_us", "last_us", f.col("lookups").alias("lookups"), "owner")
    )
    by_key = keys.groupBy("run", "key").agg(
        f.sum(f.when(f.col("owner").isNotNull(), f.col("lookups")).otherwise(0)).alias("answered"),
        f.sum("lookups").alias("lookups"),
        f.count("owner").alias("owners"),
        f.max(f.when(f.col("owner").isNotNull(), f.col("lookups"))).alias("most"),
        f.sort_array(f.collect_list(owner)).alias("intervals"),
    )
    overlap = f.expr(
        "owners > 1 AND aggregate(intervals, struct(CAST(-1 AS BIGINT) AS until, false AS at_once), "
        "(acc, each) -> struct(greatest(acc.until, each.last_us) AS until, "
        "acc.at_once OR (acc.until >= each.first_us) AS at_once), acc -> acc.at_once)"
    )
    marked = by_key.withColumn("at_once", overlap)
    return marked.groupBy("run").agg(
        f.count("*").alias("keys"),
        f.count_if(f.expr("owners > 1 AND NOT at_once")).alias("keys_moved"),
        f.count_if("at_once").alias("keys_conflicting"),
        f.sum("lookups").alias("lookups"),
        f.sum("answered").alias("lookups_answered"),
        f.sum(f.when(f.col("at_once"), f.col("answered") - f.col("most")).otherwise(0)).alias("lookups_conflicting"),
    )
