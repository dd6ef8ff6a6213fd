"""What happened when: events, deliveries and lookups counted by the second."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from experiments.analysis.summary import Events, TimelinePoint
from experiments.traces.run import RunInfo

EVENT, DELIVERY, LOOKUP = "event", "delivery", "lookup"


@dataclass(frozen=True, slots=True)
class Second:
    """How often one kind of thing happened in one second of a run; first and last in microseconds since its start."""

    run: str
    what: str
    kind: str
    second: int
    count: int
    first_us: int
    last_us: int


def seconds(event: DataFrame, delivery: DataFrame, lookup: DataFrame, started_us: Column) -> DataFrame:
    """One row a second and kind."""

    def moments(frame: DataFrame, what: str, kind: Column, at_us: str) -> DataFrame:
        since = (f.col(at_us) - started_us).alias("since_us")
        return frame.select("run", f.lit(what).alias("what"), kind.alias("kind"), since)

    every = (
        moments(event, EVENT, f.col("kind"), "at_us")
        .unionAll(moments(delivery, DELIVERY, f.lit(DELIVERY), "received_us"))
        .unionAll(moments(lookup, LOOKUP, f.col("outcome"), "start_us"))
    )
    second = f.floor(f.col("since_us") / 1_000_000).alias("second")
    counted = every.groupBy("run", "what", "kind", second).agg(
        f.count("*").alias("count"), f.min("since_us").alias("first_us"), f.max("since_us").alias("last_us")
    )
    named = f.when(f.col("what") == LOOKUP, f.concat(f.lit("lookup "), f.col("kind"))).otherwise(f.col("kind"))
    return counted.withColumn("kind", named)


def events(run: RunInfo, found: Sequence[Second]) -> list[Events]:
    """The events of this run, in the order of their first."""
    by_kind: dict[str, list[Second]] = defaultdict(list)
    for each in found:
        if each.what == EVENT:
            by_kind[each.kind].append(each)
    rows = [
        Events(
            run=run.run,
            kind=kind,
            count=sum(each.count for each in own),
            first_s=round(min(each.first_us for each in own) / 1e6, 3),
            last_s=round(max(each.last_us for each in own) / 1e6, 3),
        )
        for kind, own in by_kind.items()
    ]
    return sorted(rows, key=lambda row: (row.first_s, row.kind))


def timeline(run: RunInfo, found: Sequence[Second]) -> list[TimelinePoint]:
    """Everything counted by the second."""
    points = sorted((each.second, each.kind, each.count) for each in found)
    return [TimelinePoint(run.run, second, kind, count) for second, kind, count in points]
