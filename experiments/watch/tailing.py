"""Tails the spool files of growing runs in a thread of its own, and lands what they grew by."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from threading import Event, Lock, Thread

from experiments.traces.spools import Damage
from experiments.watch.growing import found_so_far
from experiments.watch.landing import MOST_ROWS, Landing

POLL_S = 0.5


class Tail:
    """The thread, from `start` to `stop`; the rest may be read from any thread."""

    def __init__(self, runs: Sequence[Path], landing: Landing) -> None:
        self.grew_at = time.monotonic()
        self._runs = runs
        self._landing = landing
        self._stopped = Event()
        self._lock = Lock()
        self._error: BaseException | None = None
        self._damage, self._problems = landing.damage(), list[str]()
        self._parts = 0
        self._thread = Thread(target=self._run, name="tail", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End it, whatever it does; a file that it writes is not there then."""
        self._stopped.set()
        if self._thread.ident is not None:
            self._thread.join()

    def check(self) -> None:
        """Raise what ended the thread, if anything did: an OSError, or BadRun."""
        if self._error is not None:
            raise self._error

    def state(self) -> tuple[int, int, Damage, list[str]]:
        """How many parts and how many landed rows there are, what of spools was passed over, and what is not read."""
        with self._lock:
            return self._parts, self._landing.rows, self._damage, self._problems

    def _run(self) -> None:
        try:
            while not self._stopped.is_set():
                if self._land() < MOST_ROWS:  # otherwise more is there already
                    self._stopped.wait(POLL_S)
        except BaseException as error:
            self._error = error

    def _land(self) -> int:
        found = found_so_far(self._runs)
        rows = self._landing.land(found.parts, time.time_ns() // 1000)
        with self._lock:
            self._parts, self._problems = len(found.parts), found.problems
            self._damage = self._landing.damage()
        if rows:
            self.grew_at = time.monotonic()
        return rows
