"""Means and percentiles are those of the values themselves, written out and sorted."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.ranks import mean, percentile, quantile

COUNTS = st.dictionaries(st.integers(-5, 50), st.integers(1, 9), min_size=1, max_size=8)


@given(COUNTS, st.integers(1, 100))
def test_of_counts_and_of_values_the_same_is_told(counts: dict[int, int], percent: int) -> None:
    """The least value that so many percent do not exceed, reckoned in whole numbers."""
    values = sorted(value for value, count in counts.items() for _ in range(count))
    rank = -(-percent * len(values) // 100)

    assert percentile(counts, percent / 100) == quantile(values, percent / 100) == values[rank - 1]
    assert mean(counts) == pytest.approx(math.fsum(values) / len(values))


def test_shares_that_fall_short_of_a_whole_by_rounding_reach_it() -> None:
    """Ten tenths are one."""
    assert percentile(dict.fromkeys(range(10), 0.1), 1.0) == 9
    assert percentile(dict.fromkeys(range(10), 0.1), 0.3) == 2


def test_values_in_order_have_nearest_rank_quantiles() -> None:
    """Each is one of them."""
    assert [quantile([1.0, 2.0, 3.0, 4.0], share) for share in (0.0, 0.25, 0.26, 0.5, 1.0)] == [1, 1, 2, 2, 4]


def test_nothing_has_no_percentile() -> None:
    """It is not 0."""
    with pytest.raises(ValueError, match="without rows"):
        percentile({}, 0.5)
