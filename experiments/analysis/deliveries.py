"""What Spark counts of deliveries: flows, publications and latency histograms.

Distinct sequences are counted in bitmaps of 32,768 bits, so that no row crosses a shuffle. What comes back
is such a bitmap for every 32,768 samples of a (subscriber, topic, publisher), and one histogram a subscriber and a
topic.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from experiments.analysis.histogram import bucket_column
from experiments.analysis.losses import Flow

LATENCY_US = "received_us - published_us"


FLOW = ("run", "mode", "topic", "publisher", "subscriber")


def blocks(delivery: DataFrame, kill_us: Column, primary_kill_us: Column) -> DataFrame:
    """One row a flow and 32,768 sequences, `bits` saying which of these came.

    `resumed_us`: when the first sample arrived that was published after a primary was killed.
    """
    latency = f.expr(LATENCY_US)
    return delivery.groupBy(*FLOW, f.bitmap_bucket_number("sequence").alias("block")).agg(
        f.min("sequence").alias("first"),
        f.max("sequence").alias("last"),
        f.count("*").alias("delivered"),
        f.bitmap_construct_agg(f.bitmap_bit_position("sequence")).alias("bits"),
        f.sum(latency).alias("total_us"),
        f.max(latency).alias("max_us"),
        f.count_if(f.col("published_us") > kill_us).alias("after_kill"),
        f.min(f.when(f.col("published_us") > primary_kill_us, f.col("received_us"))).alias("resumed_us"),
    )


def flows(found: Sequence[Mapping[str, Any]]) -> list[Flow]:
    """One flow of its blocks."""
    whole: dict[tuple[str, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for block in found:
        whole[tuple(block[key] for key in FLOW)].append(block)
    return [
        Flow(
            **dict(zip(FLOW, key, strict=True)),
            first=min(block["first"] for block in own),
            last=max(block["last"] for block in own),
            delivered=sum(block["delivered"] for block in own),
            distinct=sum(int.from_bytes(block["bits"], "little").bit_count() for block in own),
            total_us=sum(block["total_us"] for block in own),
            max_us=max(block["max_us"] for block in own),
            after_kill=sum(block["after_kill"] for block in own),
            resumed_us=min((block["resumed_us"] for block in own if block["resumed_us"] is not None), default=None),
        )
        for key, own in whole.items()
    ]


def publications(publication: DataFrame) -> DataFrame:
    """One row a (publisher, topic): the first and the last sequence sent."""
    keys = ("run", "topic", "publisher")
    return publication.groupBy(*keys).agg(f.min("first").alias("first"), f.max("last").alias("last"))


def latencies(delivery: DataFrame, *keys: str) -> DataFrame:
    """The latency histogram of each group: the keys, `bucket`, `count`."""
    return delivery.groupBy("run", *keys, bucket_column(f.expr(LATENCY_US)).alias("bucket")).count()
