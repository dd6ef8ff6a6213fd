"""What is drawn is what the rows hold."""

from __future__ import annotations

from sim.paper.figure import Table
from sim.paper.series import series

TABLE = Table(["size", "kind", "mean", "published"], [[8, "a", 1.5, None], [16, "a", 2.5, 2.0], [16, "b", 3.5, None]])


def test_columns_are_taken_from_the_rows_that_hold_numbers_in_all_of_them():
    """In the order of the rows, whose number is a column as well."""
    assert list(series(TABLE, "size", "mean")) == [(8, 16, 16), (1.5, 2.5, 3.5)]
    assert list(series(TABLE, "row", "published")) == [(1,), (2.0,)]


def test_rows_are_chosen_by_what_other_columns_hold():
    """All of it."""
    assert list(series(TABLE, "mean", kind="a", size=16)) == [(2.5,)]


def test_without_such_rows_the_columns_are_empty():
    """There are as many of them."""
    assert list(series(TABLE, "size", "mean", kind="c")) == [(), ()]
