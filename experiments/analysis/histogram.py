"""Percentiles from histograms: exact for small integers, within 0.6 % for latencies in 64 buckets an octave.

A histogram is small whatever the number of rows, so Spark counts and this arithmetic does the rest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from experiments.analysis.summary import Latency

if TYPE_CHECKING:
    from pyspark.sql import Column

BUCKETS_AN_OCTAVE = 64
BELOW_ONE = -1

Histogram = Mapping[int, int]
"""From a value, or the number of a bucket, to how many rows have it."""


def bucket_column(latency_us: Column) -> Column:
    """The bucket of a latency in microseconds, as a Spark expression; -1 for less than 1 us (clocks may differ)."""
    from pyspark.sql import functions

    octave = functions.floor(functions.log2(latency_us) * BUCKETS_AN_OCTAVE).cast("int")
    return functions.when(latency_us < 1, BELOW_ONE).otherwise(octave)


def bucket(latency_us: int) -> int:
    """The same for one number."""
    return BELOW_ONE if latency_us < 1 else math.floor(math.log2(latency_us) * BUCKETS_AN_OCTAVE)


def middle_us(number: int) -> int:
    """The latency that stands for a bucket, in whole microseconds; exact below 92 us."""
    return 0 if number == BELOW_ONE else round(2 ** ((number + 0.5) / BUCKETS_AN_OCTAVE))


def percentile(histogram: Histogram, share: float) -> int:
    """The smallest value with at least `share` (0 to 1) of all rows at or below it: the nearest-rank percentile."""
    rank = max(1, math.ceil(share * sum(histogram.values())))
    seen = 0
    for value in sorted(histogram):
        seen += histogram[value]
        if seen >= rank:
            return value
    raise ValueError("a histogram without rows has no percentile")


def mean(histogram: Histogram) -> float:
    """The mean value of all rows; exact when the values are not bucket numbers."""
    return sum(value * count for value, count in histogram.items()) / sum(histogram.values())


def cumulative(histogram: Histogram) -> list[tuple[int, float]]:
    """Each value with the share of rows at or below it."""
    total = sum(histogram.values())
    seen = 0
    points = []
    for value in sorted(histogram):
        seen += histogram[value]
        points.append((value, seen / total))
    return points


def latency(histogram: Histogram, total_us: int, max_us: int) -> Latency:
    """Percentiles from a histogram of buckets; mean and maximum from the exact sum and maximum of its rows."""
    return Latency(
        mean=round(total_us / sum(histogram.values()), 1),
        p50=min(max_us, middle_us(percentile(histogram, 0.50))),
        p99=min(max_us, middle_us(percentile(histogram, 0.99))),
        max=max_us,
    )
