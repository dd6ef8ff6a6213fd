"""Percentiles from histograms: exact for small integers, within 0.6 % for latencies in 64 buckets an octave.

A histogram is small whatever the number of rows, so Spark counts and this arithmetic does the rest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from experiments.analysis.summary import Latency
from experiments.ranks import percentile

if TYPE_CHECKING:
    from pyspark.sql import Column

BUCKETS_AN_OCTAVE = 64
BELOW_ONE = -1
ROUNDING = 1e-9
"""Logarithms of powers of two are not whole in every implementation, and these begin a bucket."""

Histogram = Mapping[int, int]
"""From a value, or the number of a bucket, to how many rows have it."""


def bucket_column(latency_us: Column) -> Column:
    """The bucket of a latency in microseconds, as a Spark expression; -1 for less than 1 us (clocks may differ)."""
    from pyspark.sql import functions

    octave = functions.floor(functions.log2(latency_us) * BUCKETS_AN_OCTAVE + ROUNDING).cast("int")
    return functions.when(latency_us < 1, BELOW_ONE).otherwise(octave)


def bucket(latency_us: int) -> int:
    """The same for one number."""
    return BELOW_ONE if latency_us < 1 else math.floor(math.log2(latency_us) * BUCKETS_AN_OCTAVE + ROUNDING)


def least_us(number: int) -> int:
    """A whole number of microseconds that no latency of this bucket is below; 0 for what took less than 1 us."""
    return 0 if number == BELOW_ONE else math.floor(2 ** (number / BUCKETS_AN_OCTAVE))


def middle_us(number: int) -> int:
    """The latency that stands for a bucket, in whole microseconds; exact below 92 us."""
    return 0 if number == BELOW_ONE else round(2 ** ((number + 0.5) / BUCKETS_AN_OCTAVE))


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
