"""Lookups: hop counts (exact), time-outs, outcomes and latencies, one row a run and mode."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from experiments.analysis.histogram import Histogram, bucket_column, latency, least_us, middle_us
from experiments.analysis.summary import HopCount, Hops, Latency, Lookups
from experiments.ranks import mean, percentile
from experiments.traces.run import RunInfo

OK = "ok"


@dataclass(frozen=True, slots=True)
class Cell:
    """The lookups of one run and mode that had one outcome and one number of hops: counts and microseconds."""

    run: str
    mode: str
    outcome: str
    hops: int
    count: int
    timeouts: int
    total_us: int
    max_us: int
    after_kill: int


def cells(lookup: DataFrame, kill_us: Column) -> DataFrame:
    """One row a cell."""
    return lookup.groupBy("run", "mode", "outcome", "hops").agg(
        f.count("*").alias("count"),
        f.sum("timeouts").alias("timeouts"),
        f.sum("duration_us").alias("total_us"),
        f.max("duration_us").alias("max_us"),
        f.count_if(f.col("start_us") > kill_us).alias("after_kill"),
    )


def latencies(lookup: DataFrame) -> DataFrame:
    """Latency histograms: `step` is `lookup` (to the owner's name), `owner` (to the owner), or `failed`."""
    step = f.when(f.col("outcome") == OK, "lookup").otherwise("failed").alias("step")
    ways = lookup.select("run", "mode", step, f.col("duration_us").alias("us"))
    last = lookup.where((f.col("outcome") == OK) & f.col("owner_us").isNotNull()).select(
        "run", "mode", f.lit("owner").alias("step"), "owner_us"
    )
    counted = [
        each.groupBy("run", "mode", "step", bucket_column(f.col(each.columns[-1])).alias("bucket")).count()
        for each in (ways, last)
    ]
    return counted[0].unionAll(counted[1])


def least_of_longest(histograms: Sequence[Mapping[str, Any]], most: int) -> dict[str, int]:
    """For each run a time in microseconds that at least `most` of its lookups took, or all: from their histogram."""
    by_run: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for row in histograms:
        if row["step"] != "owner":
            by_run[row["run"]][row["bucket"]] += row["count"]
    found = {}
    for run, histogram in by_run.items():
        seen = 0
        for number in sorted(histogram, reverse=True):
            seen += histogram[number]
            found[run] = least_us(number)
            if seen >= most:
                break
    return found


def half_log2(ring_size: int) -> float:
    """Half log2 N: the mean hops of fingers alone. Stoica et al. 2003, section IV."""
    return math.log2(ring_size) / 2


def expected_hops(ring_size: int, successors: int) -> float:
    """Half log2 N - half log2 r + 1: a list of r successors saves the last halvings.

    With a list of one nothing is saved, and keys that the node asked owns take no hop: half log2 N - 0.138. A list that
    holds all others makes it one hop, or none if the node asked is the key's predecessor or owner: (N - 2) / N.
    """
    if successors >= ring_size - 1:
        return max(0, ring_size - 2) / ring_size
    if successors <= 1:
        return half_log2(ring_size) - 0.138
    return half_log2(ring_size) - math.log2(successors) / 2 + 1


def table(run: RunInfo, found: Sequence[Cell], histograms: Mapping[tuple[str, ...], Histogram]) -> list[Lookups]:
    """One row a mode of this run; `histograms` by (mode, step)."""
    by_mode: dict[str, list[Cell]] = defaultdict(list)
    for cell in found:
        by_mode[cell.mode].append(cell)
    return [_row(run, mode, own, histograms) for mode, own in sorted(by_mode.items())]


def hop_counts(run: RunInfo, found: Sequence[Cell]) -> list[HopCount]:
    """The distribution of hops of the answered lookups of this run."""
    answered = sorted((cell.mode, cell.hops, cell.count) for cell in found if cell.outcome == OK)
    return [HopCount(run.run, run.ring_size, mode, hops, count) for mode, hops, count in answered]


def hops_of(histogram: Histogram) -> Hops:
    """What a summary says of how many lookups took how many hops, of which there are some."""
    return Hops(
        mean=round(mean(histogram), 4),
        p50=percentile(histogram, 0.50),
        p99=percentile(histogram, 0.99),
        max=max(histogram),
    )


def _row(run: RunInfo, mode: str, own: Sequence[Cell], histograms: Mapping[tuple[str, ...], Histogram]) -> Lookups:
    answered = [cell for cell in own if cell.outcome == OK]
    total, ok = _count(own), _count(answered)
    owner = histograms.get((mode, "owner"))
    return Lookups(
        run=run.run,
        source=run.source,
        ring_size=run.ring_size,
        successors=run.successors,
        mode=mode,
        count=total,
        ok=ok,
        failed=total - ok,
        timeouts=sum(cell.timeouts for cell in own),
        outcomes=_by_outcome([(cell.outcome, cell.count) for cell in own]),
        hops=hops_of({cell.hops: cell.count for cell in answered}) if answered else None,
        half_log2=None if run.ring_size is None else round(half_log2(run.ring_size), 3),
        expected_hops=_expected(run),
        latency_us=_latency(answered, histograms[mode, "lookup"]) if answered else None,
        owner_us_p50=middle_us(percentile(owner, 0.5)) if owner else None,
        after_kill=None
        if run.kill_us is None
        else _by_outcome([(cell.outcome, cell.after_kill) for cell in own if cell.after_kill]),
    )


def _expected(run: RunInfo) -> float | None:
    if run.ring_size is None or run.successors is None:
        return None
    return round(expected_hops(run.ring_size, run.successors), 3)


def _latency(answered: Sequence[Cell], histogram: Histogram) -> Latency:
    return latency(histogram, sum(cell.total_us for cell in answered), max(cell.max_us for cell in answered))


def _count(found: Sequence[Cell]) -> int:
    return sum(cell.count for cell in found)


def _by_outcome(pairs: Sequence[tuple[str, int]]) -> dict[str, int]:
    totals: dict[str, int] = defaultdict(int)
    for outcome, count in pairs:
        totals[outcome] += count
    return dict(sorted(totals.items()))
