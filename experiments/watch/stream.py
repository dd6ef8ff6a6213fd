"""The stream: samples as they land, each once, counted by window and merged into the windowed table.

Spark's state holds nothing but the identities of the rows within the watermark. What a window counted is in its file,
so a window can change for as long as rows may come, and a reader needs no Spark.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.listener import StreamingQueryListener
from pyspark.sql.streaming.query import StreamingQuery

from experiments.analysis.histogram import bucket_column
from experiments.spark.answers import java_answers
from experiments.spark.java_process import SparkFailed
from experiments.traces.damaged import counted_anew
from experiments.watch.samples import SPARK_SCHEMA
from experiments.watch.windows import Cell

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import QueryProgressEvent, QueryStartedEvent, QueryTerminatedEvent

CONF = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.minBatchesToRetain": "10",
}
"""Identities are kept on disk; no batch without rows is made just to drop old ones; and few old states are kept."""

TRIGGER = "500 milliseconds"
NEVER = "36500d"
GROUP = ("window_us", "run", "source", "what", "mode", "ok", "hops", "bucket")

OnCells = Callable[[int, list[Cell]], None]
"""Called with a batch and what it counted. May be called for a batch again, after a kill."""

OnProgress = Callable[[int, int, int], None]
"""Called after a batch with its number, and how many rows it left out: those that were late, and those seen before."""


ENDED = "the stream ended"
GO_ON = "start the command again to go on"


@java_answers(ENDED, GO_ON)
def start(
    spark: SparkSession,
    landing: Path,
    checkpoint: Path,
    window_us: int,
    late_s: float,
    files_per_batch: int,
    on_cells: OnCells,
) -> StreamingQuery:
    """Start to count what lands, from where the checkpoint is. Raises SparkFailed."""
    rows = (
        spark.readStream.schema(SPARK_SCHEMA)
        .option("maxFilesPerTrigger", files_per_batch)
        .option("fileNameOnly", "true")
        .option("maxFileAge", NEVER)
        .parquet(str(landing))
    )
    once = rows.withWatermark("at", f"{round(late_s * 1000)} milliseconds").dropDuplicatesWithinWatermark(["id"])

    def count(batch: DataFrame, number: int) -> None:
        on_cells(number, msgspec.convert(cells(batch, window_us).toArrow().to_pylist(), list[Cell]))

    writer = once.writeStream.foreachBatch(count).option("checkpointLocation", str(checkpoint))
    return writer.trigger(processingTime=TRIGGER).start()


def cells(rows: DataFrame, window_us: int) -> DataFrame:
    """One row for each window, run, kind, mode, outcome, number of hops and bucket of latency that occurs."""
    window = (f.col("start_us") - f.pmod("start_us", f.lit(window_us))).alias("window_us")
    hops = f.when(f.col("ok"), f.col("hops")).alias("hops")
    bucket = bucket_column(f.col("latency_us")).alias("bucket")
    keyed = rows.select(window, "run", "source", "what", "mode", "ok", hops, bucket, "timeouts", "latency_us")
    return keyed.groupBy(*GROUP).agg(
        f.count("*").alias("count"),
        f.sum("timeouts").alias("timeouts"),
        f.sum("latency_us").alias("total_us"),
        f.max("latency_us").alias("max_us"),
    )


@java_answers(ENDED, GO_ON)
def listen(spark: SparkSession, on_progress: OnProgress) -> None:
    """Have `on_progress` called after every batch of any stream of this session. Raises SparkFailed."""
    spark.streams.addListener(_Listener(on_progress))


@java_answers(ENDED, GO_ON)
def finish(query: StreamingQuery, place: Path) -> None:
    """Wait until all that has landed is counted. Raises SparkFailed."""
    try:
        query.processAllAvailable()
    except StreamingQueryException as error:
        raise _ended(error, place) from None


@java_answers(ENDED, GO_ON)
def waits(query: StreamingQuery) -> bool:
    """Whether it has nothing to do: as far as it knows, all that has landed is counted. Raises SparkFailed."""
    return str(query.status["message"]).startswith("Waiting for")


@java_answers(ENDED, GO_ON)
def check(query: StreamingQuery, place: Path) -> None:
    """Raise SparkFailed if the stream, which works in this folder, has ended."""
    if not query.isActive:
        raise _ended(query.exception(), place)


@java_answers(ENDED, GO_ON)
def stop(query: StreamingQuery) -> None:
    """End it. Raises SparkFailed."""
    query.stop()


def _ended(error: Exception | None, place: Path) -> SparkFailed:
    lines = [line.strip() for line in str(error or "it was stopped").splitlines() if line.strip()]
    return SparkFailed(f"{ENDED}: {lines[0]}; {GO_ON}; if that ends alike, {counted_anew(place)}")


class _Listener(StreamingQueryListener):
    """Tells what every batch left out."""

    def __init__(self, on_progress: OnProgress) -> None:
        self._on_progress = on_progress

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Nothing to tell."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Tell it."""
        late = twice = 0
        for state in event.progress.stateOperators:
            late += state.numRowsDroppedByWatermark
            twice += int(state.customMetrics.get("numDroppedDuplicateRows", 0))
        self._on_progress(event.progress.batchId, late, twice)

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Nothing to tell."""
