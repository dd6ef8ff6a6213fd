"""A figure as it is left behind: a table on a terminal, CSV, and a picture."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table as Grid

from sim.paper.figure import Figure, Measured, Table, Value

SIZE_INCHES = 8.0, 5.0
DOTS_PER_INCH = 130
ROWS_SHOWN = 30
"""Of a table on the terminal: a time line of a minute has more."""


def show(figure: Figure, table: Table, judged: bool, console: Console) -> None:
    """Print the rows and, if they are to be `judged`, what was expected and did not come out so."""
    console.print(f"{figure.title}\n{figure.source}; ours is simulated", markup=False)
    grid = Grid()
    for column in table.columns:
        grid.add_column(column, justify="right")
    for row in table.rows[:ROWS_SHOWN]:
        grid.add_row(*map(_text, row))
    console.print(grid)
    if len(table.rows) > ROWS_SHOWN:
        console.print(f"and {len(table.rows) - ROWS_SHOWN} more rows, in {figure.name}.csv", markup=False)
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


def _text(value: Value | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
