"""What a person is shown of windows, and told at the end."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

import pytest
from rich.console import Console

from chord.errors import LocalProtocolError
from experiments.watch.display import LiveTable, display_for, ending
from experiments.watch.labels import labels
from experiments.watch.place import Settings, held, keep
from experiments.watch.shown import State
from experiments.watch.watching import Options, watch
from experiments.watch.windows import Window

NOON_US = 1_700_000_000_000_000 // 86_400_000_000 * 86_400_000_000 + 43_200_000_000


def window(run: str) -> Window:
    return Window(start_us=NOON_US, end_us=NOON_US, source="live", run=run, what="lookup", mode="iterative")


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


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (["run"], ["run"]),
        (["a-rather-long-name"], ["a-rather-lo…"]),
        (["grow-local-n4-seed1", "grow-local-n8-seed1"], ["n4-seed1", "n8-seed1"]),
        (["grow-n16-seed1", "grow-n18-seed1", "other"], ["grow-n16-se…", "grow-n18-se…", "other"]),
        (["s-local-n4-direct-r1", "s-local-n4-direct-r2", "s-x"], ["…4-direct-r1", "…4-direct-r2", "x"]),
        (["grow-1-and-many-words-1", "grow-2-and-many-words-1", "grow-1-and-many-words-2"], None),
    ],
)
def test_runs_can_be_told_apart(names: list[str], shown: list[str] | None) -> None:
    """Without what all begin with; cut where they stay different, in full if they do nowhere."""
    assert labels(names, 12) == dict(zip(names, shown or [name[5:] for name in names], strict=True))


def test_the_table_names_runs_that_begin_alike(capsys: pytest.CaptureFixture[str]) -> None:
    """Within 80 columns; and what is printed next begins a line."""
    with display_for([Path("runs/grow")], as_json=False) as display:
        display.begin([window(run=f"grow-local-mode-{size}") for size in ("n4", "n32")])
        display.state(State())
    print("next")

    shown = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in shown if line.startswith("12:00:00")] == ["n32", "n4"]
    assert max(map(len, shown)) <= 80
    assert (shown[0], shown[-1]) == ("runs/grow: nothing read yet", "next")


def test_nothing_is_drawn_of_a_watch_that_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither for its options nor because another one is at work: the error stands alone."""
    run = tmp_path / "run"
    (run / "traces").mkdir(parents=True)
    place = run / "analysis" / "watch"

    for options, said in (
        (Options(window_s=0), "--window takes"),
        (Options(), "another watch"),
        (Options(window_s=7), "holds windows of 10 s, not 7 s"),
    ):
        with (
            held(place) if said == "another watch" else nullcontext(),
            pytest.raises(LocalProtocolError, match=said),
            display_for([run], as_json=False) as display,
        ):
            if "7" in said:
                keep(place, Settings(window_us=10_000_000))
            watch([run], run / "analysis", options, display)
    assert capsys.readouterr().out == ""


def test_lines_are_json_and_the_rest_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    """On standard error: nothing comes for some time while Spark starts."""
    with display_for([Path("a"), Path("b")], as_json=True) as display:
        for doing in ("starting Spark", "starting Spark", "", ""):
            display.state(State(doing=doing))
        display.changed([window(run="r")])

    out, err = capsys.readouterr()
    assert err == "a, b: starting Spark\n"
    assert json.loads(out)["run"] == "r"
