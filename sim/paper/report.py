"""A figure as it is left behind: a table on a terminal, CSV, and a picture."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as Grid

from chord.amounts import counted
from sim.paper.figure import Figure, Measured, Table, Value
from sim.paper.published import FROM_MEMORY, TO_BE_CHECKED

SIZE_INCHES = 8.0, 5.0
DOTS_PER_INCH = 130
WIDE = 100
"""Characters that the widest of the tables needs."""

EDGES, BETWEEN = 2, 2
"""Characters about a table, and between two of its columns."""

ROWS_SHOWN = 30
"""Of a table on the terminal: a time line of a minute has more."""


def show(figure: Figure, table: Table, seeds: Sequence[int], judged: bool, console: Console) -> None:
    """Print the rows and, if they are to be `judged`, what was expected and did not come out so.

    `seeds` are those of the cells that were measured. Columns are as wide as their numbers and the words above them;
    where there is no room for all of that, the last ones are left out.
    """
    console.print(f"{figure.title}\n{figure.source}; ours is simulated\n{seeds_told(seeds)}", markup=False)
    places = [table.columns.index(column) for column in table.shown or table.columns]
    grid = Grid(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    rows = [table.rows[at] for at in table.telling or range(len(table.rows))][:ROWS_SHOWN]
    cells: list[list[str]] = []
    taken = EDGES
    for at in places:
        digits = _digits([row[at] for row in table.rows])
        column = [_text(row[at], digits) for row in rows]
        width = max(map(len, [*table.columns[at].split(), *column]))
        taken += width + (BETWEEN if cells else 0)
        if cells and taken > console.width:
            break
        cells.append(column)
        grid.add_column(table.columns[at], justify="right", overflow="fold", width=width)
    places = places[: len(cells)]
    for row in zip(*cells, strict=True):
        grid.add_row(*row)
    console.print(grid)
    if left := _left_out(len(table.rows) - len(rows), len(table.columns) - len(places)):
        console.print(f"{left} in {figure.name}.csv", markup=False)
    for note in table.notes:
        console.print(note, markup=False)
    if _from_memory(table.columns[at] for at in places):
        console.print(FROM_MEMORY, markup=False)
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


def draw(figure: Figure, table: Table, measured: Sequence[Measured], path: Path) -> None:
    """Draw the figure with the published points in it, and say above it where they are from."""
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=SIZE_INCHES, layout="constrained")
    axes = canvas.subplots()
    figure.draw(axes, measured)
    caption = [figure.title, f"{figure.source}; ours is simulated"]
    if _from_memory(table.columns):
        caption.append(FROM_MEMORY)
    axes.set_title("\n".join(caption), fontsize="medium")
    canvas.savefig(path, dpi=DOTS_PER_INCH)


def _from_memory(columns: Iterable[str]) -> bool:
    """Whether some of these columns are published figures that nobody has read again."""
    return any(TO_BE_CHECKED in column for column in columns)


def seeds_told(seeds: Sequence[int]) -> str:
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


def _digits(column: Sequence[Value | None]) -> int:
    """How many digits after the point a column has: none if all of it is whole or some is large, three otherwise."""
    numbers = [value for value in column if isinstance(value, float)]
    largest = max(map(abs, numbers), default=0.0)
    if all(number.is_integer() for number in numbers) or largest >= 1_000:
        return 0
    return 3 if largest < 100 else 1


def _text(value: Value | None, digits: int) -> str:
    if value is None:
        return "-"
    return f"{value:.{digits}f}" if isinstance(value, float) else str(value)
