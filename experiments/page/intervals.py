"""Confidence intervals of differences between two samples, from counts alone.

Bootstrap: both sides are drawn again with a fixed seed, the statistic is taken of both, and the interval is that of
the percentiles of their differences. With enough runs a side whole runs are drawn, so what differs from run to run is
in it; else rows are, which are then taken for independent. Shares of single runs: Newcombe's interval, which joins the
Wilson intervals of both sides and holds where a share is 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from experiments.analysis.histogram import Histogram

RESAMPLES = 2_000
SEED = 20_031
LEAST_RUNS = 5
"""A side: fewer say too little of how far runs lie apart."""

Counts = NDArray[np.int64]
Values = NDArray[np.float64]
Ends = tuple[float, float]
Statistic = Callable[[Values, Counts], Values]
"""Of sorted values and, in each row, how often each came: one number a row."""


def means(values: Values, counts: Counts) -> Values:
    """The mean of each row."""
    found: Values = counts @ values / counts.sum(axis=1)
    return found


def percentiles(share: float) -> Statistic:
    """The nearest-rank percentile of each row."""

    def of(values: Values, counts: Counts) -> Values:
        ranks = np.maximum(1, np.ceil(share * counts.sum(axis=1)))
        found: Values = values[(counts.cumsum(axis=1) < ranks[:, None]).sum(axis=1)]
        return found

    return of


def of(runs: Sequence[Histogram], statistic: Statistic) -> float:
    """The statistic of all runs together."""
    values, counts = _columns(runs)
    return float(statistic(values, counts.sum(axis=0)[None, :])[0])


def by_runs(ours: Sequence[Histogram], its: Sequence[Histogram]) -> bool:
    """Whether there are enough runs on both sides to draw whole ones."""
    return min(len(ours), len(its)) >= LEAST_RUNS


def difference(
    ours: Sequence[Histogram], its: Sequence[Histogram], statistic: Statistic, level: float
) -> tuple[Ends, Ends]:
    """The intervals of `ours` less `its` and of `ours` over `its` by bootstrap: always the same for the same counts.

    Both come from the same draws and by nearest rank, so one leaves 0 out where the other leaves 1 out.
    """
    rng = np.random.default_rng(SEED)
    redrawn = _runs_redrawn if by_runs(ours, its) else _rows_redrawn
    first, second = (statistic(*redrawn(side, rng)) for side in (ours, its))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(first == second, 1.0, first / second)
    return _ends(first - second, level), _ends(ratios, level)


def of_shares(ours: int, of_ours: int, its: int, of_its: int, level: float) -> tuple[float, float]:
    """The interval of ours / of_ours less its / of_its. Newcombe, Statistics in Medicine 17 (1998), method 10."""
    first, second = ours / of_ours, its / of_its
    (low1, high1), (low2, high2) = wilson(ours, of_ours, level), wilson(its, of_its, level)
    between = first - second
    return between - math.hypot(first - low1, high2 - second), between + math.hypot(high1 - first, second - low2)


def wilson(count: int, total: int, level: float) -> tuple[float, float]:
    """The interval of a share. Wilson, Journal of the American Statistical Association 22 (1927)."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    share = count / total
    middle = share + z * z / (2 * total)
    reach = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    return max(0.0, (middle - reach) / scale), min(1.0, (middle + reach) / scale)


def _ends(drawn: Values, level: float) -> Ends:
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf")
    return float(low), float(high)


def _columns(runs: Sequence[Histogram]) -> tuple[Values, Counts]:
    """The values of all runs, and a row of counts for each."""
    keys = sorted({key for histogram in runs for key in histogram})
    counts = [[histogram.get(key, 0) for key in keys] for histogram in runs]
    return np.array(keys, dtype=np.float64), np.array(counts, dtype=np.int64)


def _rows_redrawn(runs: Sequence[Histogram], rng: np.random.Generator) -> tuple[Values, Counts]:
    values, counts = _columns(runs)
    summed = counts.sum(axis=0)
    return values, rng.multinomial(int(summed.sum()), summed / summed.sum(), size=RESAMPLES)


def _runs_redrawn(runs: Sequence[Histogram], rng: np.random.Generator) -> tuple[Values, Counts]:
    values, counts = _columns(runs)
    weights = rng.multinomial(len(runs), [1 / len(runs)] * len(runs), size=RESAMPLES)
    return values, weights @ counts
