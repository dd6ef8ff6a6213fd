"""`python -m sim scenario`: one scenario, step by step."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sim.cli_files import check_writable, written_to
from sim.exits import UNSAFE
from sim.scenario import RingBroken, Scenario, ScenarioError, parse, rewritten


def scenario(
    file: Annotated[
        Path, typer.Argument(help="Commands, a few words a line: see docs/scenarios.md.", metavar="FILE", exists=True)
    ],
    rewrite: Annotated[
        bool, typer.Option("--rewrite", help="Write what was seen into FILE as expected, if the ring ends ideal.")
    ] = False,
) -> None:
    """Carry a scenario out on the production code, and print what each line does to the ring.

    docs/scenarios.md has the words of a scenario, and an example.
    Exit codes: 0 all is as expected, 1 it is not, the ring broke or a line cannot be carried out, 2 usage.

    \b
    Examples:
      python -m sim scenario tests/testdata/at_least_one_ring.txt
      python -m sim scenario tests/testdata/new.txt --rewrite
    """
    try:
        text = file.read_text()
    except OSError as error:
        raise typer.BadParameter(f"{file} cannot be read: {error.strerror}", param_hint="FILE") from None
    except UnicodeDecodeError:
        raise typer.BadParameter(f"{file} is no text, and no scenario", param_hint="FILE") from None
    if rewrite:
        check_writable(file, "FILE")
        seen, problem = rewritten(text)
        if not problem:
            with written_to(file):
                part = file.with_name(f"{file.name}.part")
                part.write_text(seen)
                part.replace(file)  # a disk that is full costs nobody the file that was there
    else:
        problem = _played(text)
    if problem:
        typer.echo(f"error: {file}: {problem}", err=True)
        raise typer.Exit(UNSAFE)


def _played(text: str) -> str:
    """Play a scenario to people; returns what went wrong, or nothing."""
    played = Scenario()
    shown: list[str] = []
    for block in parse(text):
        for number, command in block.commands:
            try:
                played.do(command)
            except (ScenarioError, RingBroken, AssertionError) as error:
                return f"line {number}: {error}"
            before, shown = shown, played.shown()
            print(f"{command:<24} {'; '.join(line for line in shown if line not in before)}".rstrip())
        if tuple(shown) != block.expected:
            return f"after {command!r} the ring is not as expected; --rewrite writes down what it is"
    return "" if played.ring.ideal() else "the ring is not ideal at the end; `rounds` lets it become that"
