"""A few rounds of what `make campaign` does by the hundred, through the command."""

from __future__ import annotations

import json
import signal

import pytest

from tests.descendants import alive, command_line, descendants
from tests.integration.experiments.command import started
from tests.waiting import eventually

ROUNDS = 4
DEADLINE_S = 150.0


@pytest.mark.parametrize(("seed", "successors"), [(101, 8), (102, 4)])
def test_rings_agree_after_every_round_and_keep_every_record(tmp_path, seed, successors):
    """Joins, kills, stops and leaves on two living rings: none is broken, and nothing acknowledged is lost."""
    options = ["--rounds", str(ROUNDS), "--seed", str(seed), "--successors", str(successors), "--json"]

    with started("rounds", *options, temporary=tmp_path) as process:
        stdout, stderr = process.communicate(timeout=DEADLINE_S)

    totals = json.loads(stdout)
    assert (process.returncode, totals["rounds"], totals["broken"], totals["wrong"]) == (0, ROUNDS, 0, {}), stderr
    assert stderr.startswith(f"{ROUNDS} rounds of seed {seed}, 2 side by side\n")
    assert totals["acknowledged"] > 0
    assert sum(totals["events"].values()) >= 3 * ROUNDS


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_rounds_leave_nothing_behind(tmp_path, number):
    """Every node of every ring ends with the command, stopped ones too, and so do its files."""
    with started("rounds", "--rounds", "50", "--jobs", "2", temporary=tmp_path) as process:
        eventually(lambda: nodes_below(process.pid) >= 4, DEADLINE_S, "two rings")
        below = descendants(process.pid)

        process.send_signal(number)
        process.communicate(timeout=30.0)

    assert process.returncode == 128 + number
    eventually(lambda: not any(map(alive, below)), 5.0, "the end of every process")
    assert list(tmp_path.iterdir()) == []


def nodes_below(parent: int) -> int:
    return sum(b"chord.cli" in command_line(each) for each in descendants(parent))
