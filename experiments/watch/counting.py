"""What Spark says of the batches of a watch, in threads of its own: what each counted, and what each left out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from threading import Condition

from experiments.watch.place import LeftOut, left_out
from experiments.watch.shown import Display
from experiments.watch.windows import Cell, Windows

SHOWN_WINDOWS = 12


class Counting:
    """Counts batches into windows, and notes in `place` what they left out; may be asked from any thread."""

    def __init__(self, place: Path, windows: Windows, display: Display) -> None:
        self.counted_at = time.monotonic()
        self._place = place
        self._windows = windows
        self._display = display
        self._changed = Condition()
        self._left_out = left_out(place)
        self._begun = self._told = -1
        display.begin(windows.latest(SHOWN_WINDOWS))

    def cells(self, batch: int, cells: Sequence[Cell]) -> None:
        """Count a batch."""
        with self._changed:
            self._begun = max(self._begun, batch)
        changed = self._windows.add(batch, cells)
        self.counted_at = time.monotonic()
        self._display.changed(changed)

    def progress(self, batch: int, late: int, twice: int) -> None:
        """Note what a batch left out; Spark tells it some time after the batch, which the next one may overtake."""
        with self._changed:
            if batch > self._left_out.batch and (late or twice):
                before = self._left_out
                self._left_out = LeftOut(batch=batch, late=before.late + late, twice=before.twice + twice)
                self._left_out.save(self._place)
            self._told = max(self._told, batch)
            self._changed.notify_all()

    def wait_until_told(self, timeout_s: float) -> bool:
        """Wait until what every batch so far left out is known; whether that is so."""
        with self._changed:
            return self._changed.wait_for(lambda: self._told >= self._begun, timeout_s)

    def totals(self) -> tuple[int, LeftOut]:
        """How many rows were counted since the start, and left out ever."""
        with self._changed:
            return self._windows.counted, self._left_out
