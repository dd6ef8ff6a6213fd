"""A figure as it is left behind: a table on a terminal, CSV, and a picture."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as Grid

from chord.amounts import counted
from sim.paper.figure import Figure, Measured, Table, Value

SIZE_INCHES = 8.0, 5.0
DOTS_PER_INCH = 130
WIDE = 100
"""Characters that the widest of the tables needs."""

ROWS_SHOWN = 30
"""Of a table on the terminal: a time line of a minute has more."""


def show(figure: Figure, table: Table, seeds: Sequence[int], judged: bool, console: Console) -> None:
    """Print the rows and, if they are to be `judged`, what was expected and did not come out so.

    `seeds` are those of the cells that were measured. Columns are as wide as their numbers and the words above them;
    where there is no room for that, nothing is cut off.
    """
    console.print(f"{figure.title}\n{figure.source}; ours is simulated\n{_told(seeds)}", markup=False)
    places = [table.columns.index(column) for column in table.shown or table.columns]
    grid = Grid(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    cells = [[_text(row[at]) for row in table.rows[:ROWS_SHOWN]] for at in places]
    for at, column in zip(places, cells, strict=True):
        words = table.columns[at].split()
        grid.add_column(table.columns[at], justify="right", overflow="fold", width=max(map(len, [*words, *column])))
    for row in zip(*cells, strict=True):
        grid.add_row(*row)
    console.print(grid)
    if left := _left_out(len(table.rows) - ROWS_SHOWN, len(table.columns) - len(places)):
        console.print(f"{left} in {figure.name}.csv", markup=False)
    if not judged:
        return
    for expectation, holds in table.agrees:
        if not holds:
            console.print(f"differs: {expectation}", markup=False, soft_wrap=True)
    held = sum(holds for _, holds in table.agrees)
    console.print(f"{held} of {len(table.agrees)} expectations hold", markup=False)


def write_csv(table: Table, path: Path) -> None:
    """Write the rows with all their digits."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table.columns)
        writer.writerows(table.rows)


def draw(figure: Figure, measured: Sequence[Measured], path: Path) -> None:
    """Draw the figure with the published points in it."""
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=SIZE_INCHES, layout="constrained")
    axes = canvas.subplots()
    figure.draw(axes, measured)
    axes.set_title(f"{figure.title}\n{figure.source}; ours is simulated", fontsize="medium")
    canvas.savefig(path, dpi=DOTS_PER_INCH)


def _told(seeds: Sequence[int]) -> str:
    """`seed 1`, `seeds 0-9, 12`: sorted ones, each once."""
    runs: list[list[int]] = []
    for seed in seeds:
        if runs and seed == runs[-1][-1] + 1:
            runs[-1].append(seed)
        else:
            runs.append([seed])
    said = ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
    return f"seed{'s' if len(seeds) > 1 else ''} {said}"


def _left_out(rows: int, columns: int) -> str:
    counts = {"row": rows, "column": columns}
    return " and ".join(counted(count, f"more {what}") for what, count in counts.items() if count > 0)


def _text(value: Value | None) -> str:
    """Three digits after the point, fewer of what is large."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.{3 if abs(value) < 100 else 1 if abs(value) < 1_000 else 0}f}"
    return str(value)
