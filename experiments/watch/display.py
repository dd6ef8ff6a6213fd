"""What a watch shows: a live table on a terminal, or a JSON line for every row that changed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Literal

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from experiments.watch.labels import labels
from experiments.watch.place import WATCH
from experiments.watch.samples import VIRTUAL
from experiments.watch.shown import Display, State
from experiments.watch.windows import FOLDER, Window, as_row

MOST_ROWS = 20
MOST_FILES = 3
RUN_WIDTH = 12
A_SECOND = 2.0
FIRST_REAL_US = 1_000_000_000_000_000
"""September 2001: no run of real processes is that old."""


class JsonLines:
    """A line for every row of the table that changed, in full: the last line of a row is the one that counts.

    What the watch does before it counts is said on standard error.
    """

    def __init__(self, runs: Sequence[Path]) -> None:
        self._runs = _named(runs)
        self._said = ""
        self._broken: BrokenPipeError | None = None

    def begin(self, windows: Sequence[Window]) -> None:
        """Those were printed by the watch before."""

    def changed(self, windows: Sequence[Window]) -> None:
        """Print them."""
        try:
            for window in windows:
                sys.stdout.write(json.dumps(as_row(window)) + "\n")
            sys.stdout.flush()
        except BrokenPipeError as error:
            self._broken = error

    def state(self, state: State, /) -> None:
        """Say what it does, once. Raises BrokenPipeError if nobody reads the lines any more."""
        if state.doing not in ("", self._said):
            self._said = state.doing
            print(f"{self._runs}: {state.doing}", file=sys.stderr, flush=True)
        if self._broken is not None:
            raise self._broken


class LiveTable:
    """The latest windows, and what is to be said of them; `draw` is called as soon as there is anything."""

    def __init__(self, runs: Sequence[Path]) -> None:
        self.draw: Callable[[], None] | None = None
        self._runs = _named(runs)
        self._lock = Lock()
        self._rows: dict[tuple[object, ...], Window] = {}
        self._state = State()

    def begin(self, windows: Sequence[Window]) -> None:
        """Show them until newer ones come."""
        self.changed(windows)
        self._begin()

    def changed(self, windows: Sequence[Window]) -> None:
        """Show them."""
        with self._lock:
            for window in windows:
                self._rows[window.start_us, window.run, window.what, window.mode] = window
            latest = sorted(self._rows.items(), key=lambda item: item[1].updated_us)[-MOST_ROWS:]
            self._rows = dict(latest)

    def state(self, state: State, /) -> None:
        """Show it."""
        with self._lock:
            self._state = state
        self._begin()

    def __rich__(self) -> Group:
        with self._lock:
            rows = sorted(self._rows.values(), key=lambda row: (row.start_us, row.run, row.what, row.mode))
            return Group(
                Text(self._heading()), _table(rows), *(Text(line, style="yellow") for line in notes(self._state))
            )

    def _begin(self) -> None:
        if self.draw is not None:
            self.draw()

    def _heading(self) -> str:
        state = self._state
        if state.doing:
            return f"{self._runs}: {state.doing}"
        if not state.parts:
            return f"{self._runs}: nothing read yet"
        return f"{self._runs}: {state.parts:,} parts; {state.counted:,} rows counted since the start of this command"


@contextmanager
def display_for(runs: Sequence[Path], as_json: bool) -> Iterator[Display]:
    """What shows a watch on standard output. Not on a terminal, the table is printed once, at the end.

    Nothing is drawn before the watch shows anything: what it refuses to begin with is told alone.
    """
    if as_json:
        yield JsonLines(runs)
        return
    table = LiveTable(runs)
    live = Live(get_renderable=table.__rich__, console=Console(highlight=False), refresh_per_second=A_SECOND)
    table.draw = live.start
    try:
        yield table
    finally:
        if live.is_started:
            live.stop()
            if not live.console.is_terminal:  # where it does not end its last line
                live.console.print()


def ending(state: State, out: Path) -> list[str]:
    """What is said when a watch has ended by itself."""
    if not state.parts:
        return [f"{out / WATCH / FOLDER}: nothing to count: no run has begun"]
    counted = f"{state.counted:,} rows counted, {state.late:,} late, {state.twice:,} there already"
    return [f"{out / WATCH / FOLDER}: {counted}"]


def notes(state: State) -> list[str]:
    """What was left out, and why."""
    lines = []
    if state.late:
        lines.append(f"{state.late:,} rows came later than --late allows and are in no window; `analyse` counts them")
    if state.twice:
        lines.append(f"{state.twice:,} rows were there already, and are counted once")
    damage = state.damage
    said = {
        "bad_rows": "{:,} rows in the wrong form were left out",
        "garbage": "{:,} stretches of garbage were passed over",
        "cut_tails": "{:,} files end inside a row, as after a kill, or while it is written",
        "unknown_rows": "{:,} rows of unknown kinds were left out",
        "newer_files": "{:,} files come from a newer version; rows may be missing",
    }
    lines += [text.format(getattr(damage, key)) for key, text in said.items() if getattr(damage, key)]
    if damage.files:
        more = f" and {len(damage.files) - MOST_FILES:,} more" if damage.files[MOST_FILES:] else ""
        lines.append(f"in {', '.join(damage.files[:MOST_FILES])}{more}")
    return [*lines, *(f"not read: {problem}" for problem in state.problems)]


def _table(rows: Sequence[Window]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 1, 0, 0))
    runs = labels({row.run for row in rows}, RUN_WIDTH)
    fits = all(len(label) <= RUN_WIDTH for label in runs.values())
    for name, width, one_line in (("window", 8, True), ("run", RUN_WIDTH, fits), ("what", 16, True)):
        overflow: Literal["ellipsis", "fold"] = "ellipsis" if one_line else "fold"
        table.add_column(name, overflow=overflow, no_wrap=one_line, min_width=6, max_width=width)
    for name in ("count", "failed", "time outs", "hops", "p50", "p99", "us p50", "us p99"):
        table.add_column(name, justify="right", no_wrap=" " not in name, min_width=max(map(len, name.split())))
    for row in rows:
        figures = row.figures()
        hops = (figures["hops_mean"], figures["hops_p50"], figures["hops_p99"])
        values = (row.count, row.failed, row.timeouts, *hops, figures["latency_us_p50"], figures["latency_us_p99"])
        style = "red" if row.failed else None
        table.add_row(_when(row), runs[row.run], f"{row.what} {row.mode}", *map(_number, values), style=style)
    return table


def _named(runs: Sequence[Path]) -> str:
    return ", ".join(map(str, runs))


def _when(row: Window) -> str:
    """The time of day (UTC), or the second of a virtual clock, at which a window begins.

    Of traces without a run.json nobody says which it is; but a virtual clock begins at 0.
    """
    if row.source in VIRTUAL or row.start_us < FIRST_REAL_US:
        return f"+{row.start_us / 1e6:g} s"
    return datetime.fromtimestamp(row.start_us / 1e6, UTC).strftime("%H:%M:%S")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"
