"""The ways that lookups took: how often each node was asked, by whom it was named, and the slowest of them."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f

from experiments.analysis.counted import TABLES, Longest
from experiments.analysis.schemas import COLUMNS
from experiments.spark.literal import literal

VIA = """
    transform(hop_list, (hop, i) -> struct(
        try_element_at(filter(slice(hop_list, 1, i), each -> NOT each.timed_out), -1).node AS via,
        hop.node AS node, hop.address AS address, hop.timed_out AS timed_out))
"""
"""Each exchange with the node that named its callee: the last one before that answered; null for the first."""

PATH = """
    concat_ws(' > ', transform(hop_list, hop ->
        concat(hop.address, if(hop.timed_out, ' timed out after ', ' '), hop.rtt_us, ' us')))
"""


def edges(lookup: DataFrame) -> DataFrame:
    """One row a pair of nodes of which the first named the second: exchanges with the second, and time-outs."""
    asked = lookup.where("size(hop_list) > 0").select("run", f.inline(f.expr(VIA)))
    return asked.groupBy("run", "via", "node", "address").agg(
        f.count("*").alias("exchanges"), f.count_if("timed_out").alias("timeouts")
    )


def slowest(spark: SparkSession, lookup: DataFrame, least_us: Mapping[str, int]) -> pa.Table:
    """The longest lookups of each run among those of `least_us` or more, with their way in words.

    When they began is found first, in few columns: by that Parquet passes over nearly all rows with the others.
    """
    kind = TABLES["slowest"]
    assert isinstance(kind, Longest)
    bounds = f.broadcast(literal(spark, list(least_us.items()), "run string, least_us long"))

    def longest(frame: DataFrame, *then: str) -> DataFrame:
        order = Window.partitionBy("run").orderBy(f.desc(kind.by), *then)
        long = (
            frame.where(f.col(kind.by) >= min(least_us.values())).join(bounds, "run").where("duration_us >= least_us")
        )
        return long.withColumn("rank", f.row_number().over(order)).where(f.col("rank") <= kind.most)

    begun = longest(lookup.select("run", "start_us", kind.by), "start_us").select("start_us").distinct().toArrow()
    found = longest(lookup.where(f.col("start_us").isin(begun["start_us"].to_pylist())), *kind.then)
    return found.select(*COLUMNS["slowest"].names[:-1], f.expr(PATH).alias("path")).toArrow()
