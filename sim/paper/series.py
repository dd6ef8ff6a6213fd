"""What is drawn, taken from the rows of a table by the names of its columns."""

from __future__ import annotations

from collections.abc import Iterator

from sim.paper.figure import Table, Value


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
