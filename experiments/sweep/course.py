"""The course of a sweep: first what Spark spreads, then cell after cell. One that fails is told, the rest goes on."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence

from chord.errors import RingcastError
from experiments.sweep.cells import Cell, Place, PlaceRun
from experiments.sweep.directory import SweepDirectory
from experiments.sweep.estimate import estimate_s
from experiments.sweep.room import cannot_write, is_full
from experiments.traces.run import RunInfo

Progress = Callable[[str, float, float], None]
"""What is done, how much, of how much."""

PlaceOf = Callable[[Place], PlaceRun]

Spread = Callable[[SweepDirectory, Sequence[Cell], Callable[[str, float], None]], dict[str, str]]
"""Runs static cells side by side, tells which one is under way and how many estimated seconds are done, returns why
cells failed, by name."""


def sweep(
    directory: SweepDirectory, places: PlaceOf, progress: Progress, spread: Spread | None = None
) -> dict[str, str]:
    """Run every cell that is not finished; returns why cells failed, by name. `progress` hears estimated seconds.

    Static cells are left to `spread`, if there is one. Raises CannotWrite.
    """
    expected = {cell.name: estimate_s(cell) for cell in directory.waiting}
    total_s, before_s = sum(expected.values()), 0.0
    failed: dict[str, str] = {}
    together = [cell for cell in directory.waiting if spread is not None and cell.place == "static"]
    if spread is not None and together:
        failed = spread(directory, together, lambda what, done_s: progress(what, done_s, total_s))
        before_s = sum(expected[cell.name] for cell in together)
    for cell in directory.waiting:
        if cell in together:
            continue
        share = expected[cell.name]
        telling = _telling(progress, cell.name, before_s, share, total_s)
        telling(0, 1)
        reason = _run(directory, cell, places, telling)
        if reason is not None:
            failed[cell.name] = reason
        before_s += share
        telling(1, 1)
    return failed


def _run(directory: SweepDirectory, cell: Cell, places: PlaceOf, told: Callable[[int, int], None]) -> str | None:
    """Run one cell; returns why it failed, if it did."""

    def outcome() -> RunInfo:
        folder = directory.begin(cell)
        return places(cell.place)(cell, folder, told)

    return conclude(directory, cell, time.monotonic(), outcome)


def conclude(directory: SweepDirectory, cell: Cell, began: float, outcome: Callable[[], RunInfo]) -> str | None:
    """Note that a cell is finished, or why it failed, which is returned; `outcome` is called for the one or the other.

    `began` is when it began by the monotonic clock. Raises CannotWrite when the disk is full, also that of the cell.
    """
    try:
        run = outcome()
    except (RingcastError, OSError) as error:
        if isinstance(error, OSError) and is_full(error):
            raise cannot_write(error, directory.path / cell.name) from None
        reason = str(error) or type(error).__name__
    except Exception as error:  # a place with a mistake in it does not take the cells of other places with it
        reason = f"{type(error).__name__}: {error}\n{traceback.format_exc()}"
    else:
        directory.finish(cell, run, time.monotonic() - began)
        return None
    directory.fail(cell, reason, time.monotonic() - began)
    return reason.splitlines()[0]


def _telling(
    progress: Progress, what: str, before_s: float, share_s: float, total_s: float
) -> Callable[[int, int], None]:
    return lambda done, of: progress(what, before_s + share_s * done / max(1, of), total_s)
