"""Two sets of runs held against each other: what both measured in the same way, how far apart it is, and how surely.

Everything that is compared is counted in the level: with k comparisons each interval is one of 1 - 0.05 / k, so that
all of them hold together 19 times of 20 (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from experiments.analysis.histogram import Histogram
from experiments.page import intervals
from experiments.page.compared import Pair, pairs, rows_of
from experiments.page.material import Material

TOGETHER = 0.95
LEAST_ROWS = 20
"""Of each side: fewer say nothing."""

LEAST_CHANGE = {"hops": 0.05, "latency": 0.05, "share": 0.001}
"""A difference that matters is at least so large: in hops, in parts of the other side's latency, in a share."""


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One thing that was measured on both sides, with the ends of the interval of ours less its.

    Latencies are microseconds. `ratio` has the ends of the interval of ours over its, but for shares. `counts` are
    rows, ours and its; `runs` the names of both sides' runs.
    """

    what: str
    kind: str
    source: str
    runs: tuple[Sequence[str], Sequence[str]]
    ours: float
    its: float
    low: float
    high: float
    counts: tuple[int, int]
    method: str
    ratio: intervals.Ends | None = None

    @property
    def shown(self) -> bool:
        """Whether the interval leaves nought out."""
        return not self.low <= 0 <= self.high

    @property
    def matters(self) -> bool:
        """Whether it is shown, and large enough for anybody to care."""
        least = LEAST_CHANGE[self.kind] * (self.its if self.kind == "latency" else 1)
        return self.shown and abs(self.ours - self.its) >= least


def differences(ours: Material, its: Material) -> tuple[list[Difference], float]:
    """Everything that both sides measured of the same configuration, what matters first; and the level of each."""
    enough = [pair for pair in pairs(ours, its) if min(rows_of(pair.ours), rows_of(pair.its)) >= LEAST_ROWS]
    parts = [part for pair in enough for part in _parts(pair)]
    level = 1 - (1 - TOGETHER) / max(1, len(parts))
    found = [part(level) for part in parts]
    return sorted(found, key=lambda each: (not each.matters, not each.shown)), level


def _parts(pair: Pair) -> list[partial[Difference]]:
    if pair.kind == "share":
        return [partial(_of_shares, pair)]
    first = ("mean", intervals.means) if pair.kind == "hops" else ("median", intervals.percentiles(0.5))
    return [partial(_bootstrapped, pair, *each) for each in (first, ("99th percentile", intervals.percentiles(0.99)))]


def _bootstrapped(pair: Pair, name: str, statistic: intervals.Statistic, level: float) -> Difference:
    (low, high), ratio = intervals.difference(pair.ours, pair.its, statistic, level)
    drawn = f"{len(pair.ours)} and {len(pair.its)} runs" if intervals.by_runs(pair.ours, pair.its) else "rows"
    return Difference(
        what=f"{name} of {pair.what}",
        kind=pair.kind,
        source=pair.source,
        runs=pair.runs,
        ours=intervals.of(pair.ours, statistic),
        its=intervals.of(pair.its, statistic),
        low=low,
        high=high,
        counts=(rows_of(pair.ours), rows_of(pair.its)),
        method=f"bootstrap of {drawn}",
        ratio=None if pair.kind == "share" else ratio,
    )


def _of_shares(pair: Pair, level: float) -> Difference:
    """Of histograms of 1 for what counts and 0 for all else."""
    if intervals.by_runs(pair.ours, pair.its):
        return _bootstrapped(pair, "share", intervals.means, level)
    (ours, of_ours), (its, of_its) = (_ones(side) for side in (pair.ours, pair.its))
    low, high = intervals.of_shares(ours, of_ours, its, of_its, level)
    return Difference(
        what=f"share of {pair.what}",
        kind=pair.kind,
        source=pair.source,
        runs=pair.runs,
        ours=ours / of_ours,
        its=its / of_its,
        low=low,
        high=high,
        counts=(of_ours, of_its),
        method="analytic (Newcombe)",
    )


def _ones(runs: Sequence[Histogram]) -> tuple[int, int]:
    return sum(histogram.get(1, 0) for histogram in runs), rows_of(runs)
