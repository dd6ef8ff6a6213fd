"""What `python -m experiments rounds` says of all rounds."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from experiments.rings.outcome import Options
from experiments.rings.tally import Tally, as_text
from experiments.rounds import rounds

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


@pytest.mark.parametrize(
    ("count", "jobs", "said"),
    [(1, 2, "1 round of seed 7"), (2, 4, "2 rounds of seed 7, 2 side by side"), (9, 1, "9 rounds of seed 7")],
)
def test_the_rounds_to_come_are_told(monkeypatch, capsys, count, jobs, said) -> None:
    """How many, and how many of them at once: never more than there are."""
    monkeypatch.setattr("experiments.rounds.SideBySide", lambda _options, _jobs: nullcontext([]))

    rounds(Options(seed=7, first=1, rounds=count, nodes=0, successors=8), jobs, as_json=True)

    assert capsys.readouterr().err.splitlines()[0] == said
