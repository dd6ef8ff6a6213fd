"""Intervals of differences: against figures from the literature, and against how often they hold."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from experiments.page import intervals

MEANS = intervals.means


@pytest.mark.parametrize(
    ("counts", "expected"),
    [((56, 70, 48, 80), (0.0524, 0.3339)), ((9, 10, 3, 10), (0.1705, 0.8090)), ((10, 10, 0, 10), (0.6075, 1.0000))],
)
def test_newcombe_s_interval_is_that_of_his_table(
    counts: tuple[int, int, int, int], expected: tuple[float, float]
) -> None:
    """Newcombe 1998, table II, method 10: cases a, b and g."""
    assert intervals.of_shares(*counts, level=0.95) == pytest.approx(expected, abs=6e-5)


def test_wilson_s_interval_of_none_of_ten() -> None:
    """0 of 10 is compatible with 28 %: z² / (n + z²)."""
    assert intervals.wilson(0, 10, 0.95) == pytest.approx((0.0, 0.2775), abs=1e-4)


def test_a_bootstrap_of_rows_holds_as_often_as_it_says() -> None:
    """Of 60 pairs of samples from one distribution, 90 % intervals miss the true difference of 0 some 6 times."""
    rng = random.Random(5)
    missed = 0
    for _ in range(60):
        one, two = (Counter(rng.choices(range(6), (1, 5, 9, 7, 3, 1), k=300)) for _ in range(2))
        (low, high), _ = intervals.difference([one], [two], MEANS, 0.90)
        missed += not low <= 0 <= high

    assert 1 <= missed <= 13


def test_the_same_counts_give_the_same_interval() -> None:
    """The seed is fixed."""
    sides = [{1: 50, 2: 50}], [{1: 40, 2: 60}]

    assert intervals.difference(*sides, MEANS, 0.95) == intervals.difference(*sides, MEANS, 0.95)


def test_a_ratio_leaves_one_out_where_the_difference_leaves_nought_out() -> None:
    """Of pairs that differ by some hundredths, whichever way; and none is below 0."""
    rng = random.Random(7)
    for _ in range(40):
        one, two = (Counter(rng.choices(range(1, 7), (1, 5, 9, 7, 3, rng.random()), k=200)) for _ in range(2))
        (low, high), (least, most) = intervals.difference([one], [two], MEANS, 0.60)
        assert (low > 0, high < 0) == (least > 1, most < 1)
        assert 0 < least <= most


def test_runs_that_lie_apart_give_wider_intervals_than_their_rows_do() -> None:
    """With five runs a side whole runs are drawn: a mean that differs from run to run is not known from many rows."""
    runs = [{hops: 500, hops + 1: 500} for hops in (1, 2, 3, 4, 5)]
    rows = [{hops: sum(run.get(hops, 0) for run in runs) for hops in range(1, 7)}]

    (low, high), _ = intervals.difference(runs, runs, MEANS, 0.95)
    of_rows, _ = intervals.difference(rows, rows, MEANS, 0.95)

    assert high - low > 5 * (of_rows[1] - of_rows[0])


def test_percentiles_are_those_of_nearest_rank() -> None:
    """The smallest value with that share of all rows at or below it."""
    assert intervals.of([{1: 98, 7: 1, 9: 1}], intervals.percentiles(0.99)) == 7
    assert intervals.of([{1: 1, 2: 1}], intervals.percentiles(0.5)) == 1
