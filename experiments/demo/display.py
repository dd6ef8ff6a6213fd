"""What the demo shows while it runs: the ring as a ring, and the rates beside it."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from experiments.demo.crew import Worker

WIDTH, HEIGHT = 44, 15
PLAIN_EVERY_S = 5.0


class Seat:
    """One ring node in the picture."""

    def __init__(self, address: str, identifier: int) -> None:
        self.address = address
        self.identifier = identifier
        self.topics: list[str] = []
        self.killed = False


class Display:
    """A live picture on a terminal, and a line every few seconds elsewhere."""

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
            self._live.update(self._picture(workers), refresh=True)
        elif time.monotonic() - self._said_at >= PLAIN_EVERY_S and workers:
            self._said_at = time.monotonic()
            totals = {part: sum(w.count for w in workers if w.part == part) for part in ("publish", "subscribe", "ask")}
            self.say(f"{totals['publish']:,} published, {totals['subscribe']:,} delivered, {totals['ask']:,} lookups")

    def _picture(self, workers: Sequence[Worker]) -> RenderableType:
        ring = Panel(self._ring(), title=f"{len(self.seats)} ring nodes", width=WIDTH + 4)
        if self._console.width < WIDTH + 46:
            return Group(Text(self.phase, style="bold"), ring, _rates(workers))
        grid = Table.grid(padding=(0, 2))
        grid.add_row(ring, _rates(workers))
        return Group(Text(self.phase, style="bold"), grid)

    def _ring(self) -> Text:
        cells = [[" "] * WIDTH for _ in range(HEIGHT)]
        marks: list[tuple[int, int, int, str]] = []
        for seat in self.seats:
            # Identifiers run clockwise from the top, and keep their true distances.
            angle = 2 * math.pi * seat.identifier / 2**64
            column = round((WIDTH / 2 - 8) * math.sin(angle) + WIDTH / 2)
            row = round(-(HEIGHT / 2 - 1) * math.cos(angle) + (HEIGHT - 1) / 2)
            label = ("x " if seat.killed else "o ") + " ".join(topic.rpartition(".")[2] for topic in seat.topics)
            label = label.rstrip()
            column = min(max(0, column), WIDTH - len(label))
            for offset, character in enumerate(label):
                if 0 <= row < HEIGHT:
                    cells[row][column + offset] = character
            marks.append((row, column, len(label), "bold red" if seat.killed else "bold green" if seat.topics else ""))
        text = Text("\n".join("".join(line) for line in cells))
        for row, column, length, style in marks:
            start = row * (WIDTH + 1) + column
            if style:
                text.stylize(style, start, start + length)
        return text


def _rates(workers: Sequence[Worker]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("process")
    table.add_column("so far", justify="right")
    table.add_column("per second", justify="right")
    for worker in workers:
        table.add_row(worker.label, f"{worker.count:,}", f"{worker.rate:,.0f}")
    return table
