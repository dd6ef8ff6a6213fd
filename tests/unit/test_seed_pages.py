"""The pages that retell the sessions of others: each command of ours there is one."""

from __future__ import annotations

import re
import shlex

import pytest
import typer

import broker.cli_app
import chord.cli_app
from tests.architecture.sources import ROOT

APPS = {"dht": chord.cli_app.dht, "ringcast": broker.cli_app.ringcast}
PAGES = ["seed-001.md", "seed-003.md"]


def commands(text: str) -> list[str]:
    """What begins with one of our programs, in back quotes or on a line of its own."""
    found = re.findall(r"`((?:dht|ringcast) [a-z]+ [^`]*)`", text)
    found += re.findall(r"^ *((?:dht|ringcast) .*)$", text, re.MULTILINE)
    return [re.sub(r"( > /dev/null)?( &)?$", "", each).replace("$topic", "12345") for each in found]


@pytest.mark.parametrize("page", PAGES)
def test_each_command_is_understood(page: str) -> None:
    """With every option that it is given."""
    found = [each for each in commands((ROOT / "docs" / page).read_text()) if re.search(r" --[a-z]+ [^N]", each)]

    assert len(found) > 8
    for each in found:
        program, name, *arguments = shlex.split(each)
        group = typer.main.get_command(APPS[program])
        command = group.get_command(typer.Context(group), name)  # type: ignore[attr-defined]
        if name in ("pub", "sub") and not re.match(r"[A-Z0-9]", arguments[0]):
            continue  # an option by itself, in the tables of options
        context = command.make_context(name, [a for a in arguments if "NAME" not in a])
        assert context.params
