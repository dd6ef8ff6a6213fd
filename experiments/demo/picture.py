"""The demo as a picture for a terminal of 80 columns and 24 lines: the ring as a ring, and the rates beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

WIDTH, HEIGHT = 36, 15
FRAME = 4
RATES_WIDTH = 37
"""The table of rates, and two columns between it and the ring."""
LINES_BESIDE = 4
"""The phase, the ring's frame, and the line on which the cursor waits."""


@dataclass
class Seat:
    """One ring node in the picture."""

    address: str
    identifier: int
    topics: list[str] = field(default_factory=list)
    killed: bool = False


@dataclass(frozen=True)
class Rate:
    """How far one process has got, and how fast it goes."""

    label: str
    count: int
    per_second: float


def picture(console: Console, phase: str, seats: Sequence[Seat], rates: Sequence[Rate]) -> RenderableType:
    """As much of it as there is room for: a small terminal shows the rates alone."""
    what = Text(phase, style="bold", no_wrap=True, overflow="ellipsis")
    if console.width < WIDTH + FRAME + RATES_WIDTH or console.height < HEIGHT + LINES_BESIDE:
        return Group(what, _rates(rates))
    grid = Table.grid(padding=(0, 2))
    grid.add_row(Panel(_ring(seats), title=f"{len(seats)} ring nodes", width=WIDTH + FRAME), _rates(rates))
    return Group(what, grid)


def _ring(seats: Sequence[Seat]) -> Text:
    cells = [[" "] * WIDTH for _ in range(HEIGHT)]
    marks: list[tuple[int, int, int, str]] = []
    for seat in sorted(seats, key=lambda seat: len(seat.topics)):  # names over nodes without one
        # Identifiers run clockwise from the top, and keep their true distances.
        angle = 2 * math.pi * seat.identifier / 2**64
        row = round(-(HEIGHT / 2 - 1) * math.cos(angle) + (HEIGHT - 1) / 2)
        label = " ".join(["x" if seat.killed else "o", *(topic.rpartition(".")[2] for topic in seat.topics)])
        column = round((WIDTH / 2 - 5) * math.sin(angle) + WIDTH / 2)
        column = min(max(0, column), WIDTH - len(label))
        cells[row][column : column + len(label)] = label
        marks.append((row, column, len(label), "bold red" if seat.killed else "bold green" if seat.topics else ""))
    text = Text("\n".join("".join(line) for line in cells))
    for row, column, length, style in marks:
        start = row * (WIDTH + 1) + column
        text.stylize(style, start, start + length)
    return text


def _rates(rates: Sequence[Rate]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("process", no_wrap=True, max_width=16)
    table.add_column("so far", justify="right", no_wrap=True)
    table.add_column("a second", justify="right", no_wrap=True)
    for rate in rates:
        table.add_row(rate.label, f"{rate.count:,}", f"{rate.per_second:,.0f}")
    return table
