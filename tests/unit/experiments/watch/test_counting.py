"""What a batch left out is known once Spark has told it of that batch, not of one before it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from experiments.watch.counting import Counting
from experiments.watch.place import LeftOut, left_out
from experiments.watch.shown import State
from experiments.watch.windows import Cell, Window, Windows

CELL = Cell(
    window_us=0,
    run="r",
    source="live",
    what="lookup",
    mode="iterative",
    ok=True,
    hops=1,
    bucket=3,
    count=2,
    timeouts=0,
    total_us=7,
    max_us=4,
)
NOT_AT_ALL_S = 0.0
DEADLINE_S = 5.0


class Unseen:
    """A display that nobody looks at."""

    def begin(self, windows: Sequence[Window]) -> None:
        pass

    def changed(self, windows: Sequence[Window]) -> None:
        pass

    def state(self, state: State, /) -> None:
        pass


@pytest.fixture
def counting(tmp_path: Path) -> Counting:
    return Counting(tmp_path, Windows(tmp_path, 1_000_000), Unseen())


def test_what_is_told_of_a_batch_says_nothing_of_the_next_one(counting: Counting, tmp_path: Path) -> None:
    """Spark tells it late: the next batch may have begun by then."""
    counting.cells(0, [CELL])
    counting.cells(1, [CELL])
    counting.progress(0, 1, 0)
    assert not counting.wait_until_told(NOT_AT_ALL_S)

    counting.progress(1, 2, 3)

    assert counting.wait_until_told(DEADLINE_S)
    assert counting.totals() == (4, LeftOut(batch=1, late=3, twice=3))
    assert left_out(tmp_path) == LeftOut(batch=1, late=3, twice=3)


def test_without_a_batch_there_is_nothing_to_wait_for(counting: Counting) -> None:
    """As of a run that left no rows."""
    assert counting.wait_until_told(NOT_AT_ALL_S)


def test_a_batch_that_is_told_twice_leaves_out_its_rows_once(counting: Counting) -> None:
    """As after a kill, when Spark does it again."""
    counting.progress(4, 1, 1)
    counting.progress(4, 1, 1)

    assert counting.totals()[1] == LeftOut(batch=4, late=1, twice=1)
