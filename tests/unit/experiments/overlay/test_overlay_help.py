"""What `--help` of each command of `overlay` shows, and what misuse is told."""

from __future__ import annotations

import re

import pytest
import typer
from typer.testing import CliRunner

from chord.errors import RingcastError
from experiments.cli_app import app

COMMANDS = sorted(typer.main.get_command(app).commands["overlay"].commands)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples_of_80_columns_and_json(command):
    """As every command of `python -m experiments` has."""
    told = CliRunner().invoke(app, ["overlay", command, "--help"], env={"COLUMNS": "80"}).output

    assert re.search(rf"^  Examples:\n(    .*\n)*    python -m experiments overlay {command}", told, re.MULTILINE)
    assert [line for line in told.splitlines() if len(line) > 80] == []
    assert " --json " in told


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["snapshot"], "give either the ADDRESS of a node or --simulated"),
        (["snapshot", "127.0.0.1:1", "--simulated"], "give either the ADDRESS of a node or --simulated"),
        (["compare", "--mode", "quick"], "a lookup is iterative or recursive, not 'quick'"),
        (["compare", "--mode", ""], "--mode names no lookup to compare"),
        (["compare", "--mode", " , "], "--mode names no lookup to compare"),
        (["snapshot", "--simulated", "--cluster", "c"], "--cluster: it says nothing of a simulated ring"),
        (["snapshot", "--simulated", "--wait", "5"], "--wait: it says nothing of a simulated ring"),
        (["snapshot", "127.0.0.1:1", "--nodes", "5"], "--nodes: it says nothing of a real ring"),
        (["metrics", "nothing.json"], "nothing.json cannot be read"),
        (["fit", "nothing"], "nothing is missing; give the directory of a run"),
        (["stretch", "runs/nosuch"], "runs/nosuch is missing; give the directory of a run, or the file of a snapshot"),
        (["stretch", "nosuch.json"], "nosuch.json cannot be read (No such file or directory); take one with"),
        (
            ["snapshot", "127.0.0.1:1", "--patience", "0.2"],
            "no ring could be walked within 0.2 s; the last try: no reply",
        ),
        (["stretch", "a.json", "b.json"], "give one snapshot, or directories of runs, not both"),
    ],
)
def test_misuse_is_told_in_one_sentence(arguments, expected, tmp_path, monkeypatch):
    """Nothing is started, and nothing written."""
    monkeypatch.chdir(tmp_path)

    result = CliRunner().invoke(app, ["overlay", *arguments], env={"COLUMNS": "200"})

    assert result.exit_code != 0
    assert expected in (str(result.exception) if isinstance(result.exception, RingcastError) else result.output)
    assert list(tmp_path.iterdir()) == []
