"""What the demo shows while it runs: a live picture on a terminal, and a line every few seconds elsewhere."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.console import Console
from rich.live import Live

from experiments.demo.crew import Worker
from experiments.demo.picture import Rate, Seat, picture

PLAIN_EVERY_S = 5.0


class Display:
    """The picture goes when the display ends; the lines that were said stay."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None
        self._said_at = 0.0
        self._started_at = time.monotonic()
        self.phase = ""
        self.seats: list[Seat] = []

    def __enter__(self) -> Display:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def say(self, text: str) -> None:
        """A line that stays."""
        console = self._live.console if self._live else self._console
        console.print(f"[{time.monotonic() - self._started_at:5.1f} s] {text}", highlight=False, markup=False)

    def update(self, workers: Sequence[Worker]) -> None:
        """Show the state of now."""
        if self._live:
            rates = [Rate(worker.label, worker.count, worker.rate) for worker in workers]
            self._live.update(picture(self._console, self.phase, self.seats, rates), refresh=True)
        elif time.monotonic() - self._said_at >= PLAIN_EVERY_S and workers:
            self._said_at = time.monotonic()
            totals = {part: sum(w.count for w in workers if w.part == part) for part in ("publish", "subscribe", "ask")}
            self.say(f"{totals['publish']:,} published, {totals['subscribe']:,} delivered, {totals['ask']:,} lookups")
