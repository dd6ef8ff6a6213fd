"""`python -m sim scenario`: one scenario, step by step."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import wrap
from typing import Annotated

import msgspec
import typer

from sim.cli_files import check_writable, written_to
from sim.exits import UNSAFE
from sim.scenario import Block, NoCommand, RingBroken, Scenario, ScenarioError, parse, rewritten


class Step(msgspec.Struct):
    """A line that was carried out, and the ring after it."""

    line: int
    command: str
    ring: list[str]


def scenario(
    file: Annotated[
        Path, typer.Argument(help="Commands, a few words a line: see docs/scenarios.md.", metavar="FILE", exists=True)
    ],
    rewrite: Annotated[
        bool, typer.Option("--rewrite", help="Write what was seen into FILE as expected, if the ring ends ideal.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON: the whole ring after each line.")] = False,
) -> None:
    """Carry a scenario out on the production code, and print what each line does to the ring.

    docs/scenarios.md has the words of a scenario, and an example.
    Exit codes: 0 all is as expected, 1 it is not, the ring broke or a line cannot be carried out, 2 usage or
    no scenario.

    \b
    Examples:
      python -m sim scenario tests/testdata/at_least_one_ring.txt
      python -m sim scenario tests/testdata/at_least_one_ring.txt --json
      python -m sim scenario tests/testdata/at_least_one_ring.txt --rewrite
    """
    try:
        text = file.read_text()
    except OSError as error:
        raise typer.BadParameter(f"{file} cannot be read: {error.strerror}", param_hint="FILE") from None
    except UnicodeDecodeError:
        raise typer.BadParameter(f"{file} is no text, and no scenario", param_hint="FILE") from None
    if rewrite and as_json:
        raise typer.BadParameter("nothing is printed with --rewrite", param_hint="--json")
    blocks = parse(text)
    _check(file, blocks)
    if rewrite:
        check_writable(file, "FILE")
        seen, problem = rewritten(text)
        if not problem:
            with written_to(file):
                part = file.with_name(f"{file.name}.part")
                part.write_text(seen)
                part.replace(file)  # a disk that is full costs nobody the file that was there
    elif as_json:
        steps: list[Step] = []
        problem = _played(blocks, steps.append)
        print(msgspec.json.format(msgspec.json.encode(steps), indent=2).decode())
    else:
        problem = _told(blocks)
    if problem:
        typer.echo(f"error: {file}: {problem}", err=True)
        raise typer.Exit(UNSAFE)


def _check(file: Path, blocks: list[Block]) -> None:
    """Raises BadParameter for a file without commands, and for one that begins with something else than a command."""
    first = next((each for block in blocks for each in block.commands), None)
    if first is None:
        raise typer.BadParameter(f"no commands in {file}", param_hint="FILE")
    number, command = first
    try:
        Scenario().do(command)
    except NoCommand:
        raise typer.BadParameter(
            f"{file} is no scenario: line {number} is no command; docs/scenarios.md has them", param_hint="FILE"
        ) from None
    except (ScenarioError, RingBroken, AssertionError):
        pass  # what goes wrong is told when it is carried out


def _told(blocks: list[Block]) -> str:
    """Play a scenario to people, a line a step; returns what went wrong, or nothing."""
    wide = max((len(command) for block in blocks for _number, command in block.commands), default=0)
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    before: list[str] = []

    def tell(step: Step) -> None:
        nonlocal before
        print(line_of(step.command, wide, [line for line in step.ring if line not in before], columns))
        before = step.ring

    return _played(blocks, tell)


def line_of(command: str, wide: int, changes: list[str], columns: int) -> str:
    """A step and what it changed, beside commands of that width; broken at so many columns, unless they are 0."""
    begin, text = f"{command:<{wide}}  ", "; ".join(changes)
    if columns:
        text = f"\n{' ' * len(begin)}".join(wrap(text, max(columns - len(begin), 20), break_on_hyphens=False))
    return f"{begin}{text}".rstrip()


def _played(blocks: list[Block], seen: Callable[[Step], None]) -> str:
    """Play a scenario, and hand over each step; returns what went wrong, or nothing."""
    played = Scenario()
    shown: list[str] = []
    for block in blocks:
        for number, command in block.commands:
            try:
                played.do(command)
            except (ScenarioError, RingBroken, AssertionError) as error:
                return f"line {number}: {error}"
            shown = played.shown()
            seen(Step(number, command, shown))
        if tuple(shown) != block.expected:
            return f"after {command!r} the ring is not as expected; --rewrite writes down what it is"
    return "" if played.ring.ideal() else "the ring is not ideal at the end; `rounds` lets it become that"
