"""Moments at which something was done to a run: the kills that run.json tells of, and its faults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from experiments.spark.literal import literal
from experiments.traces.run import RunInfo

NEVER = 2**62


@dataclass(frozen=True, slots=True)
class Moment:
    """What was done to whom, and when: microseconds since the epoch."""

    run: str
    kind: str
    target: str
    at_us: int


def moments(run: RunInfo) -> list[Moment]:
    """Those of one run, in their order."""
    found = [Moment(run.run, "kill", "", run.kill_us)] if run.kill_us is not None else []
    if run.primary_kill_us is not None:
        found.append(Moment(run.run, "primary kill", run.killed_zone or "", run.primary_kill_us))
    for fault in run.faults or ():
        if isinstance(fault.get("at_us"), int):
            found.append(Moment(run.run, str(fault.get("kind")), str(fault.get("target", "")), fault["at_us"]))
    return sorted(found, key=lambda moment: moment.at_us)


def after(spark: SparkSession, infos: Sequence[RunInfo], lookup: DataFrame, event: DataFrame) -> DataFrame | None:
    """Events, and lookups that were begun, after each moment and before the next: how many, the first and the last.

    Times are microseconds since that moment; a lookup counts when it ended. None when nothing was done to any run.
    """
    rows = []
    for info in infos:
        times = sorted({moment.at_us for moment in moments(info)})
        rows += [(info.run, at, until) for at, until in pairwise([*times, NEVER])]
    if not rows:
        return None
    spans = f.broadcast(literal(spark, rows, "run string, at_us long, until_us long"))

    def what(frame: DataFrame, kind: Column, begun: str, ended: Column) -> DataFrame:
        return frame.select("run", kind.alias("kind"), f.col(begun).alias("begun"), ended.alias("ended"))

    every = what(event, f.concat(f.lit("event "), f.col("kind")), "at_us", f.col("at_us")).unionAll(
        what(lookup, f.concat(f.lit("lookup "), f.col("outcome")), "start_us", f.expr("start_us + duration_us"))
    )
    since = f.col("ended") - f.col("at_us")
    return (
        every.join(spans, "run")
        .where("begun > at_us AND begun <= until_us")
        .groupBy("run", "at_us", "kind")
        .agg(f.count("*").alias("count"), f.min(since).alias("first_us"), f.max(since).alias("last_us"))
    )
