"""What Spark counts of deliveries: flows, publications and latency histograms.

Distinct sequences are counted in bitmaps of 32,768 bits, so that no row crosses a shuffle. What comes back
is one row a (subscriber, topic, publisher) and one histogram a subscriber and a topic.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from experiments.analysis.histogram import bucket_column

LATENCY_US = "received_us - published_us"


def flows(delivery: DataFrame, kill_us: Column, primary_kill_us: Column) -> DataFrame:
    """One row a flow. `resumed_us`: when the first sample arrived that was published after a primary was killed."""
    keys = ("run", "mode", "topic", "publisher", "subscriber")
    latency = f.expr(LATENCY_US)
    return (
        delivery.groupBy(*keys, f.bitmap_bucket_number("sequence").alias("block"))
        .agg(
            f.min("sequence").alias("first"),
            f.max("sequence").alias("last"),
            f.count("*").alias("delivered"),
            f.bitmap_count(f.bitmap_construct_agg(f.bitmap_bit_position("sequence"))).alias("distinct"),
            f.sum(latency).alias("total_us"),
            f.max(latency).alias("max_us"),
            f.count_if(f.col("published_us") > kill_us).alias("after_kill"),
            f.min(f.when(f.col("published_us") > primary_kill_us, f.col("received_us"))).alias("resumed_us"),
        )
        .groupBy(*keys)
        .agg(
            f.min("first").alias("first"),
            f.max("last").alias("last"),
            *(f.sum(name).alias(name) for name in ("delivered", "distinct", "total_us")),
            f.max("max_us").alias("max_us"),
            f.sum("after_kill").alias("after_kill"),
            f.min("resumed_us").alias("resumed_us"),
        )
    )


def publications(publication: DataFrame) -> DataFrame:
    """One row a (publisher, topic): the first and the last sequence sent."""
    keys = ("run", "topic", "publisher")
    return publication.groupBy(*keys).agg(f.min("first").alias("first"), f.max("last").alias("last"))


def latencies(delivery: DataFrame, *keys: str) -> DataFrame:
    """The latency histogram of each group: the keys, `bucket`, `count`."""
    return delivery.groupBy("run", *keys, bucket_column(f.expr(LATENCY_US)).alias("bucket")).count()
