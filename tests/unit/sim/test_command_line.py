"""`python -m sim`: what is refused before a run, and how it ends when nobody reads what it prints."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from sim.cli_app import app
from sim.cli_paper import NAMES
from sim.paper.figures import FIGURES
from sim.render import report_table
from sim.run import Report
from tests.unit.sim.commands import sim


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (
            ["--seed", "7", "campaign", "--runs", "1"],
            "--seed: before campaign it has no effect; use python -m sim campaign --first 7",
        ),
        (["--seed", "7", "ring"], "python -m sim ring --seed ..."),
        (["--json", "exhaust", "--nodes", "2"], "python -m sim exhaust --json ..."),
        (["--no-shrink", "campaign", "--runs", "1"], "--shrink/--no-shrink: before campaign it has no effect"),
        (["--save", "x", "scenario"], "--save: before scenario it has no effect"),
    ],
)
def test_an_option_of_one_run_before_a_command_is_refused(arguments, complaint):
    """It would be ignored. What to say instead is said."""
    result = CliRunner().invoke(app, arguments)

    assert result.exit_code == 2
    assert complaint in result.output


def test_without_anything_the_help_is_printed():
    """On standard error, as of `dht`: it is not what was asked for."""
    result = CliRunner().invoke(app, [])

    assert (result.exit_code, result.stdout) == (2, "")
    assert "python -m sim --seed 144\n" in result.stderr


def test_what_is_missing_beside_an_option_is_said():
    """The help would not say it."""
    result = CliRunner().invoke(app, ["--json"])

    assert result.exit_code == 2
    assert "name one of the two: --seed N or --plan FILE" in result.stderr


@pytest.mark.parametrize("package", ["matplotlib", "networkx", "numpy"])
def test_a_package_that_figures_lack_is_said_before_they_are_measured(monkeypatch, tmp_path, package):
    """In one line, and nothing is left."""
    monkeypatch.setitem(sys.modules, package, None)

    result = CliRunner().invoke(app, ["paper", "load", "--quick", "--out", str(tmp_path / "out")])

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"error: figures need {package}, not installed: `pip install 'ringcast[sim]'`\n"
    assert not (tmp_path / "out").exists()


def test_all_figures_are_in_the_help():
    """Every one of them, unbroken."""
    told = CliRunner().invoke(app, ["paper", "--help"]).output

    assert tuple(FIGURES) == NAMES
    assert set(NAMES) <= set(told.split())


@pytest.mark.parametrize("option", ["--save", "--trace"])
def test_what_cannot_be_written_is_said_before_the_run(tmp_path, option):
    """Exit code 2, whatever would have come of the run."""
    (tmp_path / "file").touch()

    result = CliRunner().invoke(app, ["--seed", "3", option, str(tmp_path / "file" / "x")])

    assert result.exit_code == 2
    assert f"{option}: {tmp_path}/file/x cannot be written: Not a directory\n" in result.output


def test_a_plan_that_another_run_saved_stays_when_a_run_is_refused(tmp_path):
    """A look at whether --save can be written neither empties a file nor makes one."""
    plan = tmp_path / "plan.json"
    plan.write_text("before")
    (tmp_path / "file").touch()

    for save in (plan, tmp_path / "new.json"):
        CliRunner().invoke(app, ["--seed", "3", "--save", str(save), "--trace", str(tmp_path / "file" / "x")])

    assert plan.read_text() == "before"
    assert not (tmp_path / "new.json").exists()


@pytest.mark.parametrize(
    ("arguments", "title"),
    [
        (["--seed", "7"], "chaos of seed 7, style stop (virtual time)"),
        (["ring", "--nodes", "1", "--lookups", "1"], "1 node joining at once, seed 1 (virtual time)"),
    ],
)
def test_the_title_of_a_table_is_one_line(arguments, title):
    """However narrow the figures are."""
    result = CliRunner().invoke(app, arguments)

    assert title in [line.strip() for line in result.output.splitlines()]


def test_a_walk_that_is_left_is_no_success():
    """Exit code 3, not 0: nothing is wrong in what was walked, and not everything was."""
    plain, as_json = (
        CliRunner().invoke(app, ["exhaust", "--nodes", "2", "--at-most", "100", *more]) for more in ([], ["--json"])
    )

    assert plain.exit_code == as_json.exit_code == 3
    assert "incomplete: 2 of 2 situations were left after 100 states" in plain.output
    assert '"complete": false' in as_json.output


def test_a_walk_is_told_in_80_columns():
    """Two lines each: where it began, and what it saw."""
    lines = CliRunner().invoke(app, ["exhaust", "--nodes", "2"]).output.splitlines()

    assert lines[0].startswith("ring 2, 8 join; ")
    assert re.fullmatch(r"  [\d,]+ states, [\d,]+ transitions; [\d,]+ at rest, ideal within 1 round", lines[1])
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("more", [["--json"], []], ids=["json", "table"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_has_gone_ends_it_quietly(monkeypatch, more, unbuffered):
    """As of `| head -1`: exit code 141, and nothing on standard error."""
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    with subprocess.Popen(
        [sys.executable, "-m", "sim", "ring", "--nodes", "3", "--lookups", "5", *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        process.stdout.close()
        stderr = process.stderr.read()

    assert (process.returncode, stderr) == (141, "")


def test_a_disk_that_is_full_is_said_in_one_line():
    """Exit code 1 and why, for what is printed as for what is left in files."""
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "sim", "ring", "--nodes", "3", "--lookups", "5"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert (done.returncode, done.stderr) == (1, "error: [Errno 28] No space left on device\n")


@pytest.mark.parametrize(("why", "said"), [("'64 TB'", "64 TB"), ("", "there is not enough memory")])
def test_too_little_memory_is_said_in_one_line(why, said):
    """Exit code 1, and no traceback: a ring of 2^26 nodes takes 2 GB."""
    code = f"""
import sim.__main__ as command

def without_memory(app):
    raise MemoryError({why})

command._run_to_the_last_line = without_memory
command.main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (1, f"error: {said}\n")


def test_a_plan_for_which_there_is_no_room_is_said_after_the_verdict():
    """The file is named, and what the run was like is told all the same."""
    done = sim("--seed", "7", "--json", "--save", "/dev/full")

    assert (done.returncode, done.stderr) == (1, "error: /dev/full cannot be written: No space left on device\n")
    assert json.loads(done.stdout)["verdict"]["verdict"] == "ok"


@pytest.mark.parametrize("run", [("--seed", "7"), ("ring", "--nodes", "3", "--lookups", "5")])
def test_traces_for_which_there_is_no_room_are_named(tmp_path, run):
    """In the words in which a file is refused before a run."""
    directory = tmp_path / "run"
    (directory / "traces").mkdir(parents=True)
    (directory / "traces" / "sim-0000.part").symlink_to("/dev/full")

    done = sim(*run, "--trace", str(directory))

    said = f"error: {directory} cannot be written: No space left on device\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)


@pytest.mark.parametrize("damaged", [b'{"\xff": 1}', b'{"seed": "\xff"}', b'{"seed": ' + b"[" * 5000])
def test_a_plan_that_is_damaged_is_refused_in_one_line(tmp_path, damaged):
    """Also where it is no UTF-8, or brackets open for ever."""
    plan = tmp_path / "plan.json"
    plan.write_bytes(damaged)

    done = sim("--plan", str(plan), COLUMNS="400")

    assert done.returncode == 2
    assert f"Invalid value for --plan: {plan} holds no plan: " in done.stderr
    assert "Traceback" not in done.stderr


def test_without_lookups_no_means_of_them_are_told(capsys):
    """A ring that did not become ideal in time was not asked: there is no path length to be told."""
    report_table(Report(seed=1, nodes=64, crashes=0, converged_s=None))

    assert "log2 N" not in capsys.readouterr().out
