"""Slow: every schedule of small rings, with twice the stabilizations. Run it by name: `pytest tests/campaign`."""

from __future__ import annotations

import pytest

from sim.exhaustive import Walk
from sim.situations import situations
from sim.telling import told

AT_MOST = 10_000_000
"""States after which a situation is left: about 2 GB of memory, and 15 minutes of one processor."""


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("situation", situations(4, whole=True), ids=str)
def test_no_schedule_breaks_a_small_ring(situation, capsys):
    """Every order of messages, joins, failures and stabilizations, breadth first as far as the memory goes."""
    walked = Walk(situation).run(AT_MOST)

    with capsys.disabled():
        print(f"\n{situation}: {walked.states:,} states{'' if walked.complete else ', not all'}")
    assert walked.wrong == [], "\n".join(told(situation, walked.schedule))
