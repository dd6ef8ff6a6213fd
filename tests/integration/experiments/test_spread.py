"""Static cells leave the same whether this process runs them or Spark does, on however many cores."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.descendants import alive, command_line, descendants
from tests.integration.experiments.command import complaints, started
from tests.waiting import eventually

DEADLINE_S = 120.0
GONE_S = 5.0

PLAN = """
title = "Static rings, some of which nobody survives"

[[sweep]]
where = "static"
nodes = [64, 1024]
successors = [0, 4]
lookups = 3001
rings = 3

[[sweep]]
where = "static"
nodes = 2
lookups = 80
rings = 8
faults = "half-die"

[[faults.half-die]]
kind = "kill"
at_s = 0
target = "share:0.5"
"""

FINISHED = [f"static-n{nodes:04}-r{successors}-rings3-seed1" for successors in (0, 4) for nodes in (64, 1024)]
FAILED = "static-n0002-rings8-half-die-seed1"


def swept(tmp_path: Path, name: str, master: str) -> tuple[Path, str]:
    """A sweep of the plan: its run, and what it printed."""
    plan, out = tmp_path / "plan.toml", tmp_path / name
    plan.write_text(PLAN)
    arguments = ["sweep", str(plan), "--out", str(out), "--master", master]
    with started(*arguments, temporary=tmp_path / "tmp") as process:
        stdout, stderr = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, complaints(stderr)) == (1, ""), stdout
    assert list((tmp_path / "tmp").iterdir()) == []
    return out, stdout


def rows(run: Path) -> dict[str, list[dict[str, Any]]]:
    """What each cell left, by its name."""
    return {name: pq.read_table(run / name / "aggregates.parquet").to_pylist() for name in FINISHED}


@pytest.mark.timeout(4 * DEADLINE_S)
def test_figures_do_not_depend_on_where_the_blocks_run(tmp_path: Path) -> None:
    """Here, by one core of Spark, by two; a cell with blocks that fail is told in each, and the others finish."""
    here, told = swept(tmp_path, "here", "")
    found = rows(here)
    assert {name: sum(row["count"] for row in left) for name, left in found.items()} == dict.fromkeys(FINISHED, 3001)
    assert all(len({row["seed"] for row in left}) == 3 for left in found.values())
    assert told.startswith(f"failed {FAILED}: block ")
    assert f"{here}: 4 of 5 cells done" in told
    for master in ("local[1]", "local[2]"):
        run, said = swept(tmp_path, master, master)

        assert rows(run) == found
        assert said == told.replace(str(here), str(run))
        assert (run / FAILED / "failed.txt").read_text() == (here / FAILED / "failed.txt").read_text()
        assert not (run / FAILED / "run.json").exists()
        info = json.loads((run / FINISHED[0] / "run.json").read_text())
        assert (info["source"], info["ring_size"], info["rings"]) == ("static", 64, 3)
        assert info["finished_us"] >= info["started_us"]


def test_spread_blocks_end_with_the_sweep_that_is_interrupted(tmp_path: Path) -> None:
    """Java and Python's workers are gone, one line says so, and the same command goes on."""
    out = tmp_path / "run"
    arguments = ["sweep", "--where", "static", "--nodes", "1024", "--lookups", "10^9", "--rings", "2"]
    with started(*arguments, "--master", "local[2]", "--out", str(out), temporary=tmp_path / "tmp") as process:
        eventually(
            lambda: sum(b"pyspark.daemon" in command_line(each) for each in descendants(process.pid)) == 3, DEADLINE_S
        )
        below = descendants(process.pid)

        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=DEADLINE_S)

    assert (process.returncode, stdout, complaints(stderr)) == (
        128 + signal.SIGINT,
        "",
        "interrupted; what was started has ended\n",
    )
    eventually(lambda: not any(map(alive, below)), GONE_S, "the end of every process")
    assert list((tmp_path / "tmp").iterdir()) == []
    assert not (out / "static-n1024-r0-rings2-seed1" / "run.json").exists()


def test_a_java_that_dies_is_told_in_a_sentence(tmp_path: Path) -> None:
    """Exit code 1 and what to do, no traceback."""
    out = tmp_path / "run"
    arguments = ["sweep", "--where", "static", "--nodes", "1024", "--lookups", "10^9", "--rings", "2"]
    with started(*arguments, "--master", "local[1]", "--out", str(out), temporary=tmp_path / "tmp") as process:
        eventually(
            lambda: sum(b"pyspark.daemon" in command_line(each) for each in descendants(process.pid)) == 2, DEADLINE_S
        )
        for each in descendants(process.pid):
            if b"pyspark-shell" in command_line(each):
                os.kill(each, signal.SIGKILL)
        stderr = complaints(process.communicate(timeout=DEADLINE_S)[1])

    assert process.returncode == 1
    assert stderr.startswith("error: static cells did not all run: Spark")
    assert stderr.endswith(" went away; the same command goes on with them\n")
    assert stderr.count("\n") == 1
    assert list((tmp_path / "tmp").iterdir()) == []
