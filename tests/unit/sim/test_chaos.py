"""`python -m sim --seed N`: one chaos run, its exit codes, and that one seed is one run, byte for byte."""

from __future__ import annotations

import io
import json
import multiprocessing
import re
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from rich.console import Console

from sim.campaign import runs
from sim.chaos import Chaos
from sim.plan import Action, Plan, draw
from sim.render import verdict_table
from tests.unit.sim.commands import ROOT, sim

CALM = next(plan for plan in map(draw, range(1000)) if plan.style == "stop" and plan.start == 3 and plan.vnodes == 1)


def saved(plan: Plan, directory: Path) -> str:
    path = directory / "plan.json"
    path.write_bytes(msgspec.json.encode(plan))
    return str(path)


def test_one_seed_is_one_run_under_any_hash_seed(tmp_path):
    """P10: the same seed gives the same verdict and the same traces, byte for byte, under another PYTHONHASHSEED."""
    first = sim("--seed", "3", "--json", "--trace", str(tmp_path / "a"), PYTHONHASHSEED="1")
    again = sim("--seed", "3", "--json", "--trace", str(tmp_path / "b"), PYTHONHASHSEED="2")

    assert first.returncode == again.returncode == 0, first.stdout + first.stderr
    assert first.stdout == again.stdout
    traces = [sorted((tmp_path / side / "traces").iterdir()) for side in "ab"]
    assert [path.read_bytes() for path in traces[0]] == [path.read_bytes() for path in traces[1]]
    assert json.loads((tmp_path / "a" / "run.json").read_text())["source"] == "sim"


def test_a_run_that_held_is_told():
    """Exit code 0, and how much was done: at least 200 deliveries and 5 faults."""
    told = json.loads(sim("--seed", "3", "--json").stdout)["verdict"]

    assert told["verdict"] == "ok"
    assert told["deliveries"] >= 200
    assert sum(told["faults"].values()) >= 5


def test_the_example_shows_all_that_goes_wrong():
    """The seed of README and --help: processes join and crash, the network falls apart and loses frames."""
    shown = re.search(r"`python -m sim --seed (\d+)`", (ROOT / "README.md").read_text())[1]
    told = sim("--seed", shown).stdout

    assert f"python -m sim --seed {shown}\n" in sim("--help").stdout
    for what in ("faults: join", "faults: crash", "faults: split", "frames lost"):
        assert int(re.search(rf"{what} +│ +(\d+)", told)[1]) > 0, told


def test_what_is_left_out_is_told_with_what_was_done_instead():
    """A process that is alone is not ended; the run has its five faults all the same."""
    alone = next(plan for plan in map(draw, range(1000)) if plan.style == "stop" and plan.start == 1)
    ends = tuple(Action(at=number / 10, kind="crash", number=number) for number in range(5))

    verdict = Chaos(replace(alone, actions=ends)).run()

    assert verdict.verdict == "ok"
    assert verdict.left_out == {"crash (nobody else alive)": 5}
    assert sum(verdict.added.values()) == sum(verdict.faults.values()) == 5
    console = Console(file=io.StringIO(), width=80)
    verdict_table(verdict, console)
    assert re.search(r"left out: crash \(nobody else alive\) +│ +5", console.file.getvalue())
    assert re.search(r"instead of what was left out: join +│ +5", console.file.getvalue())


def test_what_must_never_happen_is_exit_code_1(tmp_path):
    """A network that loses half of its frames has live members taken for dead, where that must not be: unsafe."""
    plan = next(
        lossy
        for seed in range(50)
        if Chaos(lossy := replace(draw(seed), style="stop", loss=0.5)).run().verdict == "unsafe"
    )

    told = sim("--plan", saved(plan, tmp_path), "--save", str(tmp_path / "small.json"))

    assert told.returncode == 1
    assert f"shrunk plan of seed {plan.seed}" in told.stdout
    small = msgspec.json.decode((tmp_path / "small.json").read_bytes(), type=Plan)
    assert len(small.actions) <= len(plan.actions)
    assert sim("--plan", str(tmp_path / "small.json"), "--no-shrink").returncode == 1


def test_what_does_not_happen_in_time_is_exit_code_3(tmp_path):
    """While frames took a minute nobody heard of anybody; that is too late for what is asked in the end: stuck."""
    joins = tuple(action for action in CALM.actions if action.kind == "join")
    slow = replace(CALM, latency_s=(60.0, 60.0), actions=joins)

    told = sim("--plan", saved(slow, tmp_path), "--no-shrink")

    assert told.returncode == 3
    assert "stuck: " in told.stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "python -m sim campaign --runs 2000"),
        (("--seed", "1", "--plan", "x"), "name one of the two"),
        (("--plan", "nowhere.json"), "No such file"),
        (("--plan", "setup.cfg"), "setup.cfg holds no plan"),
        (("--seed", "-1"), "--seed"),
        (("campaign", "--runs", "0"), "--runs"),
        (("campaign", "--jobs", "1000000"), "--jobs"),
    ],
)
def test_usage_is_exit_code_2(arguments, complaint):
    """What cannot be run is said in one line, and what says nothing is told how."""
    told = sim(*arguments, COLUMNS="200")

    assert told.returncode == 2
    assert complaint in told.stderr
    assert "Traceback" not in told.stderr


def test_a_campaign_adds_its_runs_up():
    """Totals over all seeds, on one process or two."""
    one, two = (sim("campaign", "--runs", "6", "--jobs", jobs, "--json") for jobs in ("1", "2"))

    assert one.returncode == two.returncode == 0
    totals = json.loads(one.stdout)
    assert totals["runs"] == 6
    assert totals["unsafe"] == totals["stuck"] == 0
    assert {key: value for key, value in totals.items() if key != "virtual_s"} == {
        key: value for key, value in json.loads(two.stdout).items() if key != "virtual_s"
    }


def test_a_campaign_ends_when_one_of_its_processes_is_killed():
    """As by a system that is out of memory: it does not wait for ever for the runs that were lost."""
    verdicts = runs(1, 10_000, 2)
    next(verdicts)
    multiprocessing.active_children()[0].kill()

    with pytest.raises(BrokenProcessPool):
        list(verdicts)
