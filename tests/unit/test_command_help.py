"""What `--help` of every command shows."""

from __future__ import annotations

import re
from importlib.metadata import version

import pytest
import typer
from typer.testing import CliRunner

import broker.cli_app
import chord.cli_app
import experiments.cli_app
import sim.cli_app

APPS = {
    "dht": chord.cli_app.dht,
    "ringcast": broker.cli_app.ringcast,
    "python -m sim": sim.cli_app.app,
    "python -m experiments": experiments.cli_app.app,
}
COMMANDS = [
    (program, app, command) for program, app in APPS.items() for command in sorted(typer.main.get_command(app).commands)
]
NO_RESULTS = {
    "dht join",
    "ringcast pub",
    "ringcast broker",
    "python -m experiments prepare",
    "python -m experiments flights",
}
"""They serve, publish, or leave files."""


@pytest.mark.parametrize(("program", "app", "command"), COMMANDS, ids=[f"{row[0]} {row[2]}" for row in COMMANDS])
def test_help_has_examples_of_80_columns_and_results_are_there_as_json(program, app, command):
    """As the README promises."""
    told = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "80"}, prog_name=program).output

    assert re.search(rf"^  Examples?:\n(    .*\n)*    {program} {command}", told, re.MULTILINE)
    assert [line for line in told.splitlines() if len(line) > 80] == []
    assert (" --json " in told) == (f"{program} {command}" not in NO_RESULTS)


@pytest.mark.parametrize("app", APPS.values(), ids=list(APPS))
def test_every_program_tells_its_version(app):
    """That of the package, before anything else is looked at."""
    told = CliRunner().invoke(app, ["--version"])

    assert (told.exit_code, told.output) == (0, f"ringcast {version('ringcast')}\n")
