"""Percentiles from histograms agree with sorting."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.analysis.histogram import bucket, cumulative, middle_us
from experiments.analysis.lookups import expected_hops, half_log2


@given(st.integers(1, 10**9))
def test_a_bucket_stands_for_its_latency_within_six_tenths_of_a_percent(latency_us: int) -> None:
    """64 buckets an octave; below 92 us the whole number comes back."""
    stands_for = middle_us(bucket(latency_us))

    assert abs(stands_for - latency_us) <= 0.006 * latency_us + 0.5 * (latency_us >= 92)
    assert latency_us >= 92 or stands_for == latency_us


def test_latencies_below_one_microsecond_share_a_bucket() -> None:
    """Two clocks may differ: a negative latency is counted, as 0."""
    assert [middle_us(bucket(value)) for value in (-5, 0, 1)] == [0, 0, 1]


def test_cumulative_ends_at_the_whole() -> None:
    """The last share is one."""
    assert cumulative({3: 1, 1: 3}) == [(1, 0.75), (3, 1.0)]


@pytest.mark.parametrize(
    ("ring_size", "successors", "expected"),
    [
        (8, 6, 1.21),
        (1024, 20, 3.84),
        (16384, 28, 5.60),
        (1, 8, 0.0),
        (2, 8, 0.0),
        (4, 8, 0.5),
        (8, 7, 0.75),
        (1024, 1, 4.862),
    ],
)
def test_expected_hops_match_the_reference_table(ring_size: int, successors: int, expected: float) -> None:
    """Half log2 N - half log2 r + 1; (N - 2) / N when a list holds all others; half log2 N - 0.138 for fingers."""
    assert expected_hops(ring_size, successors) == pytest.approx(expected, abs=0.006)
    assert half_log2(1024) == 5.0
