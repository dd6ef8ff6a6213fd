"""What is drawn is what the rows hold."""

from __future__ import annotations

import pytest

from sim.paper.figure import Table
from sim.paper.series import bars, legend_below, series

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


def test_bars_go_from_the_low_to_the_high_edge():
    """Around each value."""
    figure = pytest.importorskip("matplotlib.figure")
    axes = figure.Figure().subplots()
    bars(axes, [1, 2], [5.0, 7.0], [4.0, 5.0], [8.0, 11.0], label="ours")

    (drawn,) = axes.containers
    assert list(map(tuple, drawn.lines[0].get_xydata())) == [(1, 5), (2, 7)]
    ends = [[tuple(end) for end in segment] for segment in drawn.lines[2][0].get_segments()]
    assert ends == [[(1, 4), (1, 8)], [(2, 5), (2, 11)]]


def test_two_scales_have_legend_below_below_them():
    """First what the left one has. It covers nothing that is drawn, nor what the scale below is called."""
    figure = pytest.importorskip("matplotlib.figure")
    canvas = figure.Figure(layout="constrained")
    axes = canvas.subplots()
    axes.set_xlabel("below")
    right = axes.twinx()
    right.plot([1], [1], label="right")
    axes.plot([1], [1], label="left")
    legend_below(axes, right)

    (legend,) = canvas.legends
    assert [text.get_text() for text in legend.get_texts()] == ["left", "right"]
    assert axes.get_legend() is right.get_legend() is None
    canvas.draw_without_rendering()
    assert legend.get_window_extent().y1 <= axes.get_tightbbox().y0
