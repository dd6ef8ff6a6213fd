"""What `python -m experiments rounds` says of all rounds."""

from __future__ import annotations

from experiments.rings.outcome import Options
from experiments.rings.tally import Tally, as_text

TOTALS = {
    **Tally().totals(Options(seed=7, first=1, rounds=500, nodes=0, successors=128), 14_400.5),
    "rounds": 500,
    "nodes_min": 3,
    "nodes_max": 12,
    "events": {"join": 1_234, "kill": 1_234, "stop": 1, "leave": 1_234},
    "agreed_s_p50": 12.345,
    "agreed_s_p99": 29.123,
    "agreed_s_max": 29.999,
    "writes": 5_000,
    "acknowledged": 4_999,
    "read": 12_345,
    "rounds_with_all_holders_at_risk": 123,
}


def test_the_totals_are_told_in_80_columns() -> None:
    """And of one there is one."""
    lines = as_text(TOTALS).splitlines()

    assert lines[0] == "500 rounds of seed 7 in 14400.5 s: lists of 128, 3 to 12 nodes"
    assert lines[1] == "0 broken, 500 discarded: 1,234 joins, 1,234 kills, 1 stop, 1,234 leaves"
    assert max(map(len, lines)) <= 80
