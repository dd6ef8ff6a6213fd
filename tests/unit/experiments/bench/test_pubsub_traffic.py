"""What `bench failover` makes of the samples that arrived."""

from __future__ import annotations

import pytest

from experiments.bench.pubsub_traffic import Arrivals


@pytest.fixture
def arrivals() -> Arrivals:
    """Four samples; the third was published at 300 us, before a pause that began at 320 and ended at 900."""
    arrivals = Arrivals()
    arrivals.arrived = [(1, 100, 120), (2, 200, 220), (3, 300, 900), (4, 400, 905)]
    return arrivals


def test_the_first_sample_published_after_a_time_counts(arrivals: Arrivals) -> None:
    """Not one that only arrived after it."""
    assert arrivals.after(150) == 220
    assert arrivals.after(250) == 900
    assert arrivals.after(350) == 905
    assert arrivals.after(400) is None


def test_the_longest_pause_counts_from_a_time_to_now(arrivals: Arrivals) -> None:
    """One that lasts counts too."""
    assert arrivals.pause_us(0, 1_000) == 680
    assert arrivals.pause_us(500, 1_000) == 400
    assert arrivals.pause_us(500, 3_000) == 2_095


def test_what_is_missing_or_there_twice_is_counted(arrivals: Arrivals) -> None:
    """By sequence."""
    assert arrivals.counts(4) == {"published": 4, "lost": 0, "twice": 0}

    arrivals.arrived[3] = (2, 200, 950)

    assert arrivals.counts(4) == {"published": 4, "lost": 1, "twice": 1}
