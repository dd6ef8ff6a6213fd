"""The files that commands of `python -m sim` leave: what cannot be written is said before a run, not after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

import typer

from sim.exits import FAILED
from sim.traces import Traces


def traces_in(directory: Path) -> Traces:
    """Traces that go there. Raises BadParameter where they cannot, or where a run has left its own."""
    if (directory / "run.json").exists():
        raise typer.BadParameter(f"{directory} holds a run already", param_hint="--trace")
    try:
        return Traces(directory)
    except OSError as error:
        raise typer.BadParameter(f"{directory} cannot be written: {error.strerror}", param_hint="--trace") from None


def check_writable(path: Path, option: str) -> None:
    """Raises BadParameter where no file can be written. What is there stays as it is, and what is not is not made."""
    new = not path.exists()
    try:
        with path.open("ab"):
            pass
        if new:
            path.unlink()
    except OSError as error:
        raise typer.BadParameter(f"{path} cannot be written: {error.strerror}", param_hint=option) from None


def made_writable(directory: Path, option: str) -> None:
    """Make a directory, if there is none. Raises BadParameter where none can be, or no file in it."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise typer.BadParameter(f"{directory} cannot be written: {error.strerror}", param_hint=option) from None


@contextmanager
def written_to(path: Path) -> Iterator[None]:
    """End the command with one line when what is written there fails after all, as on a full disk. Raises Exit."""
    try:
        yield
    except OSError as error:
        typer.echo(f"error: {path} cannot be written: {error.strerror}", err=True)
        raise typer.Exit(FAILED) from None
