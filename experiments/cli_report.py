"""`python -m experiments report`: one page of some runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from chord.amounts import counted


def report(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Analysed runs, or what `python -m sim paper` left.")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the page and the files beside it go.")],
    against: Annotated[Path | None, typer.Option(metavar="RUN", help="Compare with this run.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written and found as JSON.")] = False,
) -> None:
    """One HTML page of runs that were analysed, which opens offline, and its figures as PNG and CSV.

    The page says of every figure what was run, with which seeds, and whether it was real, on Mininet or simulated.
    Figures of the Chord papers come from the output of `python -m sim paper`, beside the published points.

    \b
    Examples:
      python -m experiments report runs/sweep --out runs/report
      python -m experiments report runs/sweep runs/paper --out runs/report
      python -m experiments report runs/new --against runs/old --out runs/report
      python -m experiments report runs/sweep --out runs/report --json

    Exit codes: 0 done, 1 failed, 2 usage, 130 interrupted.
    """
    from experiments.page.making import make
    from experiments.report.terminal import progress_bar

    with progress_bar() as progress:
        told = make(runs, out, against, progress)
    if as_json:
        typer.echo(msgspec.json.format(msgspec.json.encode(told), indent=2).decode())
    else:
        typer.echo(f"{told.page}: {counted(len(told.figures), 'figure')}, also as PNG and CSV")
