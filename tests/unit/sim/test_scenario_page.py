"""docs/scenarios.md says what sim/scenario.py does."""

from __future__ import annotations

import re
from pathlib import Path

import sim.scenario
from sim.scenario import rewritten

PAGE = (Path(__file__).parents[3] / "docs" / "scenarios.md").read_text()
COMMAND = re.compile(r"^    (\S.*?)  +\S", re.MULTILINE)


def test_the_example_goes_as_it_is_told():
    """Its expectations are what is seen."""
    (example,) = re.findall(r"^```\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)

    assert rewritten(example) == (example, "")


def test_every_command_is_on_the_page():
    """As the module has them, in that order."""
    commands = COMMAND.findall(sim.scenario.__doc__)
    rows = re.findall(r"^\| `(.*?)` \|", PAGE, re.MULTILINE)

    assert len(commands) > 10
    assert rows[: len(commands)] == commands
