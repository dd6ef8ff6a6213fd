"""What is drawn, taken from the rows of a table by the names of its columns; bars of it, and legends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from sim.paper.figure import Table, Value

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def series(table: Table, *columns: str, **where: Value) -> Iterator[tuple[float, ...]]:
    """Some columns, of those rows that hold numbers in all of them, and in others what `where` says.

    The column `row` is the number of the row, from 0. Without such rows the columns are empty.
    """
    found = []
    for number, row in enumerate(table.rows):
        cells = dict(zip(table.columns, row, strict=True), row=number)
        numbers = tuple(value for column in columns if isinstance(value := cells[column], int | float))
        if len(numbers) == len(columns) and all(cells[column] == value for column, value in where.items()):
            found.append(numbers)
    return zip(*found, strict=True) if found else iter([()] * len(columns))


def bars(
    axes: Axes,
    places: Sequence[float],
    middle: Sequence[float],
    low: Sequence[float],
    high: Sequence[float],
    *,
    fmt: str = "o-",
    **style: Any,
) -> None:
    """Draw values with bars from their low to their high edges."""
    below = [value - edge for value, edge in zip(middle, low, strict=True)]
    above = [edge - value for value, edge in zip(middle, high, strict=True)]
    axes.errorbar(places, middle, yerr=[below, above], fmt=fmt, capsize=3, **style)


def legend_below(*scales: Axes, **style: Any) -> None:
    """What all scales of a picture have, in one legend below it, where it covers nothing."""
    entries = zip(*(axes.get_legend_handles_labels() for axes in scales), strict=True)
    handles, labels = (list(chain.from_iterable(each)) for each in entries)
    canvas = scales[0].get_figure(root=True)
    assert canvas is not None
    canvas.legend(handles, labels, loc="outside lower center", **style)
