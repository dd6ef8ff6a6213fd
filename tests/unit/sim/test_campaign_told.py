"""What a campaign says: faults apart from questions, every finding of what failed, and its totals after Ctrl-C too."""

from __future__ import annotations

import io
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest
import typer
from rich.console import Console

from sim.campaign import FAILURES_KEPT, Totals, runs
from sim.cli_campaign import campaign
from sim.render import failure_line, totals_table
from sim.stage import Verdict
from tests.descendants import alive, command_line, descendants
from tests.waiting import eventually

DEADLINE_S = 60.0


def verdict(seed: int = 1, **fields) -> Verdict:
    return Verdict(**{"seed": seed, "style": "stop", "start": 3, **fields})


def told(totals: Totals) -> list[str]:
    console = Console(file=io.StringIO(), width=120)
    totals_table(totals, console)
    return [line.strip("│ ") for line in console.file.getvalue().splitlines()]


def test_faults_and_questions_are_told_apart():
    """Each under a heading of its own, whose number is their sum."""
    totals = Totals()
    totals.add(verdict(faults={"crash": 3, "split": 1}, asked={"get": 7, "put": 5}))

    lines = [line.split() for line in told(totals)]

    faults, questions = lines.index(["faults", "injected", "│", "4"]), lines.index(["questions", "asked", "│", "12"])
    assert faults < lines.index(["crash", "│", "3"]) < lines.index(["split", "│", "1"]) < questions
    assert questions < lines.index(["get", "│", "7"]) < lines.index(["put", "│", "5"])


def test_all_findings_of_a_run_are_in_its_line():
    """Also those after a heading, which ends with a colon."""
    findings = ["read of a through b:", "version 3 is missing", "version 2 is stale"]

    line = failure_line(verdict(9, verdict="unsafe", findings=findings))

    assert line == "seed 9: unsafe: read of a through b: version 3 is missing; version 2 is stale"


def test_stuck_runs_are_told_beside_many_unsafe_ones():
    """Of each kind the first are told, and how many more there are."""
    totals = Totals()
    for seed in range(FAILURES_KEPT + 5):
        totals.add(verdict(seed, verdict="unsafe", findings=["x"]))
    totals.add(verdict(99, verdict="stuck", findings=["y"]))

    lines = told(totals)

    assert "and 5 more that are unsafe" in lines
    assert "seed 99: stuck: y" in lines


def test_ctrl_c_leaves_totals_and_no_process():
    """Ctrl-C at a terminal reaches all of its processes: exit code 130, the totals so far, and nobody says anything."""
    with subprocess.Popen(
        [sys.executable, "-m", "sim", "campaign", "--runs", "100000", "--jobs", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            eventually(lambda: len(workers_below(process.pid)) == 2, DEADLINE_S, "two processes that run chaos")
            below = descendants(process.pid)

            os.killpg(process.pid, signal.SIGINT)
            stdout, stderr = process.communicate(timeout=DEADLINE_S)
        finally:
            process.kill()

    assert process.returncode == 130
    told = "of 100000 runs; --first" in stderr  # whether one had ended
    assert told or "interrupted before the first run" in stderr
    assert ("chaos run" in stdout) == told
    assert "Traceback" not in stderr
    eventually(lambda: not any(map(alive, below)), 5.0, "the end of every process")


@pytest.mark.parametrize(
    "command", [["campaign", "--runs", "100000"], ["paper", "path-length"]], ids=lambda each: each[0]
)
def test_sigterm_ends_it_without_a_word(tmp_path, command):
    """Exit code 143, no process left, and nothing said of what its processes shared."""
    more = ["--out", str(tmp_path)] if command[0] == "paper" else []
    with subprocess.Popen(
        [sys.executable, "-m", "sim", *command, *more, "--jobs", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            eventually(lambda: len(workers_below(process.pid)) == 2, DEADLINE_S, "two processes that work")
            below = descendants(process.pid)

            process.terminate()
            stdout, stderr = process.communicate(timeout=DEADLINE_S)
        finally:
            process.kill()

    said = [line for line in stderr.splitlines() if not line.startswith(("runs ", "path-length "))]
    assert (process.returncode, stdout, said) == (143, "", [])
    eventually(lambda: not any(map(alive, below)), 5.0, "the end of every process")


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (KeyboardInterrupt, 130, "interrupted before the first run"),
        (
            BrokenProcessPool,
            1,
            "error: one of 2 processes was killed before the first run; fewer --jobs take less memory",
        ),
    ],
)
def test_what_ends_before_the_first_run_leaves_no_table_of_zeros(monkeypatch, capsys, error, code, said):
    """One line says so instead."""

    def ended(_first, _count, _jobs):
        raise error
        yield

    monkeypatch.setattr("sim.cli_campaign.runs", ended)
    monkeypatch.setattr("sim.cli_campaign.signal.signal", lambda _number, _handler: None)

    with pytest.raises(typer.Exit) as early:
        campaign(count=10, first=1, jobs=2, as_json=False)
    told = capsys.readouterr()

    assert early.value.exit_code == code
    assert (told.out, told.err.splitlines()[-1]) == ("", said)


def test_a_process_that_is_killed_leaves_totals(monkeypatch, capsys):
    """As by a system that is out of memory: exit code 1, the totals so far, and where the same command goes on."""

    def with_one_killed(first, count, jobs):
        for number, each in enumerate(runs(first, count, jobs), 1):
            yield each
            if number == 3:
                multiprocessing.active_children()[0].kill()

    monkeypatch.setattr("sim.cli_campaign.runs", with_one_killed)

    with pytest.raises(typer.Exit) as ended:
        campaign(count=10_000, first=7, jobs=2, as_json=True)
    told = capsys.readouterr()
    done = json.loads(told.out)["runs"]

    assert ended.value.exit_code == 1
    assert 3 <= done < 10_000
    assert told.err.splitlines()[-1] == (
        f"error: one of 2 processes was killed after {done} of 10000 runs; --first {7 + done} --runs {10_000 - done} "
        "goes on, and fewer --jobs take less memory"
    )
    assert multiprocessing.active_children() == []


def test_a_campaign_does_not_wait_for_a_process_that_stands_still():
    """When one of its processes is killed the others are ended too, also one that was stopped."""
    verdicts = runs(1, 10_000, 2)
    next(verdicts)
    stopped, killed = multiprocessing.active_children()

    os.kill(stopped.pid, signal.SIGSTOP)
    killed.kill()

    with pytest.raises(BrokenProcessPool):
        list(verdicts)
    assert multiprocessing.active_children() == []


def test_the_processes_of_a_campaign_leave_ctrl_c_to_it():
    """SIGINT is blocked in them from their first moment on, and they are gone when the campaign is."""
    verdicts = runs(1, 1000, 2)
    next(verdicts)
    workers = [process.pid for process in multiprocessing.active_children()]

    blocked = [
        re.search(r"^SigBlk:\s*(\w+)", Path(f"/proc/{each}/status").read_text(), re.MULTILINE) for each in workers
    ]
    verdicts.close()

    assert len(workers) == 2
    assert all(found and int(found[1], 16) & 1 << signal.SIGINT - 1 for found in blocked)
    assert multiprocessing.active_children() == []


def workers_below(parent: int) -> list[int]:
    return [each for each in descendants(parent) if b"spawn_main" in command_line(each)]
