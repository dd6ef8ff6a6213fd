"""The queries of an analysis: from Parquet tables to counts and histograms, side by side on one Spark session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from experiments.analysis import deliveries, lookups, losses, timeline
from experiments.traces.run import Part
from experiments.traces.schema import TABLES

AT_ONCE = 3

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


def silent(what: str, done: int, total: int) -> None:
    """Progress for nobody."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What Spark counted, in rows of plain values."""

    flows: list[losses.Flow]
    publications: list[losses.Publication]
    by_subscriber: list[dict[str, Any]]
    by_topic: list[dict[str, Any]]
    cells: list[lookups.Cell]
    lookup_latency: list[dict[str, Any]]
    seconds: list[timeline.Second]


def count(spark: SparkSession, parquet: Path, found: Sequence[Part], progress: Progress = silent) -> Counts:
    """Run every query over the Parquet tables of a run."""
    frames = {name: _read(spark, parquet, name) for name in TABLES}
    delivery, lookup = frames["delivery"], frames["lookup"]
    kill_us = by_run({part.info.run: part.info.kill_us for part in found})
    primary_kill_us = by_run({part.info.run: part.info.primary_kill_us for part in found})
    started_us = by_run({part.info.run: part.info.started_us for part in found})
    queries = {
        "flows": deliveries.flows(delivery, kill_us, primary_kill_us),
        "publications": deliveries.publications(frames["publication"]),
        "by_subscriber": deliveries.latencies(delivery, "subscriber"),
        "by_topic": deliveries.latencies(delivery, "mode", "topic"),
        "cells": lookups.cells(lookup, kill_us),
        "lookup_latency": lookups.latencies(lookup),
        "seconds": timeline.seconds(frames["event"], delivery, lookup, started_us),
    }
    rows = _collected(queries, progress)
    return Counts(
        flows=msgspec.convert(rows["flows"], list[losses.Flow]),
        publications=msgspec.convert(rows["publications"], list[losses.Publication]),
        by_subscriber=rows["by_subscriber"],
        by_topic=rows["by_topic"],
        cells=msgspec.convert(rows["cells"], list[lookups.Cell]),
        lookup_latency=rows["lookup_latency"],
        seconds=msgspec.convert(rows["seconds"], list[timeline.Second]),
    )


def by_run(values: Mapping[str, int | None]) -> Column:
    """A column with the value of each row's run, null where there is none."""
    column = f.lit(None).cast("bigint")
    for run, value in values.items():
        if value is not None:
            column = f.when(f.col("run") == run, f.lit(value).cast("bigint")).otherwise(column)
    return column


def _read(spark: SparkSession, parquet: Path, name: str) -> DataFrame:
    return spark.read.schema(TABLES[name].spark()).parquet(str(parquet / name))


def _collected(queries: Mapping[str, DataFrame], progress: Progress) -> dict[str, list[dict[str, Any]]]:
    """The rows of every query. Small queries leave cores idle, so a few run at once."""
    rows: dict[str, list[dict[str, Any]]] = {}
    progress("running queries", 0, len(queries))
    pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="query")
    try:
        running = {pool.submit(_rows, frame): name for name, frame in queries.items()}
        for done in as_completed(running):
            rows[running[done]] = done.result()
            progress("running queries", len(rows), len(queries))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    return rows


def _rows(frame: DataFrame) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = frame.toArrow().to_pylist()
    return rows
