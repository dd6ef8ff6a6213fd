"""How far a sweep is, in lines on standard error: for who has no terminal, and so no bar."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence

from experiments.sweep.course import Progress
from experiments.sweep.directory import CellState

TOLD_EVERY_S = 15.0
"""Between two lines, at least."""


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


class Telling:
    """Progress that passes on what it hears, and says now and then how many cells have ended: `12 of 18 cells`."""

    def __init__(
        self,
        progress: Progress,
        cells: Sequence[CellState],
        say: Callable[[str], None] = _say,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._progress = progress
        self._cells = cells
        self._say = say
        self._clock = clock
        self._told_at = clock()

    def __call__(self, what: str, done: float, total: float) -> None:
        """What is under way, and how much is done, of how much."""
        self._progress(what, done, total)
        now = self._clock()
        if now - self._told_at >= TOLD_EVERY_S:
            self._told_at = now
            self._say(self._line(what))

    def _line(self, what: str) -> str:
        ended = sum(cell.state != "waiting" for cell in self._cells)
        failed = sum(cell.state == "failed" for cell in self._cells)
        return f"{ended} of {len(self._cells)} cells{f', {failed} failed' if failed else ''}; {what}"
