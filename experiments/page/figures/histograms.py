"""Rows of counts gathered to histograms, and what a figure takes of one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from typing import Protocol, TypeVar

from experiments.analysis.histogram import Histogram, cumulative, middle_us
from experiments.ranks import percentile

LOW, HIGH = 0.01, 0.99


class Counted(Protocol):
    """A row that counts something."""

    @property
    def count(self) -> int: ...


Rows = TypeVar("Rows", bound=Counted)
Key = TypeVar("Key", bound=Hashable)


def gathered(
    rows: Iterable[Rows], key: Callable[[Rows], Key], value: Callable[[Rows], int]
) -> dict[Key, dict[int, int]]:
    """A histogram for each key, in the order in which keys come; values that nothing has are left out."""
    found: dict[Key, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for row in rows:
        if row.count:
            found[key(row)][value(row)] += row.count
    return {each: dict(sorted(histogram.items())) for each, histogram in found.items()}


def total(histograms: Iterable[Histogram]) -> int:
    """How many rows they count together."""
    return sum(sum(histogram.values()) for histogram in histograms)


def latency_us(histogram: Histogram, share: float) -> int:
    """A percentile of a histogram of buckets, in microseconds, within 0.6 %."""
    return middle_us(percentile(histogram, share))


def steps_ms(histogram: Histogram) -> tuple[list[float], list[float]]:
    """A cumulative distribution of buckets: milliseconds, and the share that took so long or less."""
    points = cumulative(histogram)
    return [max(1, middle_us(number)) / 1e3 for number, _ in points], [share for _, share in points]
