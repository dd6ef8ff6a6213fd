"""What a person is shown of windows, and told at the end."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from experiments.watch.display import LiveTable, ending
from experiments.watch.shown import State
from experiments.watch.windows import Window

NOON_US = 1_700_000_000_000_000 // 86_400_000_000 * 86_400_000_000 + 43_200_000_000


def shown(source: str, start_us: int) -> str:
    """The row of a window."""
    table = LiveTable([Path("run")])
    table.changed([Window(start_us=start_us, end_us=start_us, source=source, run="r", what="lookup", mode="m")])
    console = Console(width=100)
    with console.capture() as capture:
        console.print(table)
    return capture.get().splitlines()[-1]


@pytest.mark.parametrize(
    ("source", "start_us", "when"),
    [
        ("sim", 20_000_000, "+20 s"),
        ("unknown", 20_000_000, "+20 s"),
        ("unknown", NOON_US, "12:00:00"),
        ("live", NOON_US, "12:00:00"),
    ],
)
def test_a_window_begins_at_a_time_of_its_clock(source: str, start_us: int, when: str) -> None:
    """Of traces alone, as `sim --trace` leaves them, it is seen by the time itself."""
    assert shown(source, start_us).startswith(when)


def test_a_run_that_never_came_is_told(tmp_path: Path) -> None:
    """That is something else than a run without rows."""
    assert ending(State(doing="waiting"), tmp_path) == [f"{tmp_path}/watch/windows: nothing to count: no run has begun"]
    assert ending(State(parts=1), tmp_path) == [f"{tmp_path}/watch/windows: 0 rows counted, 0 late, 0 there already"]
