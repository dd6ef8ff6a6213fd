"""`python -m sim paper`: the figures of the Chord papers, run anew."""

from __future__ import annotations

import os
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from textwrap import wrap
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from sim.cli_files import made_writable, written_to
from sim.commit import checked_out, names_the_code
from sim.exits import FAILED, INTERRUPTED, USAGE
from sim.paper.figure import Figure

NAMES = (
    "path-length",
    "path-distribution",
    "load",
    "failures",
    "lost-keys",
    "churn",
    "stretch",
    "prototype",
    "hull",
    "split",
)
"""Those of sim.paper.figures, which takes its time to load."""

PACKAGES = "matplotlib", "networkx", "numpy"
"""What they are measured and drawn with: what is missing is said before a run."""

EPILOG = "\n  ".join(["\b\nFigures:", *wrap(" ".join(NAMES), 76, break_on_hyphens=False)])


def paper(
    names: Annotated[list[str] | None, typer.Argument(metavar="FIGURE", help="Which; all by default.")] = None,
    out: Annotated[Path, typer.Option(help="Where tables, pictures and what was measured go.", metavar="DIR")] = Path(
        "runs/paper"
    ),
    quick: Annotated[bool, typer.Option(help="A small form of each: less of everything, so more noise.")] = False,
    jobs: Annotated[int, typer.Option(help="Processes that run side by side.", min=1, max=256)] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Run the figures of the Chord papers by the production code, and tell ours beside the published ones.

    Each leaves NAME.csv and NAME.png in DIR, and its cells under DIR/cells, with their seeds: what was measured by this
    commit is not measured again, so a set that was stopped goes on, unless files were edited or git knows none. Of the
    lookups of each cell the first 1,000 leave traces there, not all that a figure counts. What does not come out as
    expected is told, but not of the small form, and is no failure. Exit codes: 0 done, 1 failed, 2 usage, 130
    interrupted.

    \b
    Examples:
      python -m sim paper
      python -m sim paper path-length load --out runs/two
      python -m sim paper --quick --json
      python -m experiments analyse runs/paper/cells/path-length
    """
    from sim.paper.figures import FIGURES

    unknown = [name for name in names or [] if name not in FIGURES]
    if unknown:
        raise typer.BadParameter(f"there is no {unknown[0]!r}; there are {', '.join(FIGURES)}", param_hint="FIGURE")
    missing = [package for package in PACKAGES if find_spec(package) is None]
    if missing:
        typer.echo(f"error: figures need {', '.join(missing)}, not installed: `pip install 'ringcast[sim]'`", err=True)
        raise typer.Exit(USAGE)
    figures = [FIGURES[name] for name in dict.fromkeys(names or FIGURES)]
    made_writable(out, "--out")
    with written_to(out):
        told = _run(figures, out, quick, jobs, _console(as_json))
    if as_json:
        print(msgspec.json.format(msgspec.json.encode(told), indent=2).decode())


def _console(as_json: bool) -> Console:
    """Where tables are printed. A file or a log has room for all of them, unless COLUMNS says how much it has."""
    from sim.paper.report import WIDE

    console = Console(stderr=as_json)
    told = os.environ.get("COLUMNS", "")
    if not console.is_terminal and not (told.isdigit() and int(told)):
        console.width = WIDE
    return console


def _run(figures: list[Figure], out: Path, quick: bool, jobs: int, console: Console) -> list[dict[str, Any]]:
    """Measure, show and keep one figure after the other; returns what JSON says of them."""
    from sim.paper import course, report

    commit = checked_out()
    cells = out / ("cells-quick" if quick else "cells")
    told = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    for figure in figures:
        try:
            with Progress(*columns, console=Console(stderr=True)) as progress:  # ends before the table begins
                bar = progress.add_task(figure.name, total=len(figure.cells(quick)))
                advance = partial(progress.advance, bar)
                measured = course.measured(figure, cells / figure.name, quick, jobs, commit, advance)
        except KeyboardInterrupt:
            how = "goes on from there" if names_the_code(commit) else "begins anew, as no commit names this code"
            typer.echo(f"interrupted in {figure.name}; the same command {how}", err=True)
            raise typer.Exit(INTERRUPTED) from None
        except BrokenProcessPool:
            typer.echo(f"error: a process was killed in {figure.name}; fewer --jobs take less memory", err=True)
            raise typer.Exit(FAILED) from None
        table = figure.table(measured)
        seeds = sorted({int(cell.parameters["seed"]) for cell in measured})
        report.show(figure, table, seeds, not quick, console)
        report.write_csv(table, out / f"{figure.name}.csv")
        report.draw(figure, table, measured, out / f"{figure.name}.png")
        wall_s = progress.tasks[bar].finished_time
        told.append(
            {
                "name": figure.name,
                "title": figure.title,
                "source": figure.source,
                "commit": commit,
                "quick": quick,
                "seeds": seeds,
                "wall_s": None if wall_s is None else round(wall_s, 1),
                "columns": table.columns,
                "rows": table.rows,
                "expectations": [{"text": text, "holds": holds} for text, holds in table.agrees],
            }
        )
    return told
