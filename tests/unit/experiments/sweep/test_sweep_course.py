"""A sweep goes on where it was stopped, and over cells that fail; nobody else works in its directory meanwhile."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest

from broker.processes import ProcessFailed
from chord.errors import LocalProtocolError
from experiments.sweep.cells import Cell, Place, PlaceRun, Told
from experiments.sweep.course import sweep
from experiments.sweep.description import describe_cell
from experiments.sweep.directory import SweepDirectory, SweepInfo, describe, opened
from experiments.sweep.room import CannotWrite
from experiments.traces.run import RunInfo, load

CELLS = [Cell(name=name, place="local", nodes=nodes, lookups=5) for nodes, name in enumerate("abc", 1)]


class Places:
    """A place that notes which cells it ran; `fail` is called before each."""

    def __init__(self, fail: Callable[[Cell], None] = lambda _cell: None) -> None:
        self.ran: list[str] = []
        self._fail = fail

    def __call__(self, _name: Place) -> PlaceRun:
        return self._run

    def _run(self, cell: Cell, directory: Path, told: Told) -> RunInfo:
        self.ran.append(cell.name)
        assert list(directory.iterdir()) == []
        info = describe_cell(cell, directory, "live")
        info.save(directory)
        (directory / "left").touch()
        told(1, 2)
        self._fail(cell)
        return info


def about() -> SweepInfo:
    return describe("plan", "A plan", "title = 'A plan'", {"nodes": "1,2,3"}, ["theirs"])


def swept(out: Path, places: Places, cells: list[Cell] | None = None) -> dict[str, str]:
    """One sweep; returns what failed."""
    with opened(out, about(), cells or CELLS) as directory:
        return sweep(directory, places, lambda _what, _done, _total: None)


def raising(error: BaseException, name: str = "b") -> Callable[[Cell], None]:
    def fail(cell: Cell) -> None:
        if cell.name == name:
            raise error

    return fail


def test_a_run_says_what_it_was(tmp_path: Path) -> None:
    """Plan, options, versions, machine, seed, whether it was real, and when it ended."""
    assert swept(tmp_path / "run", Places()) == {}

    info = load(tmp_path / "run" / "b" / "run.json")
    assert (info.run, info.plan, info.cell, info.source, info.seed) == ("run-b", "plan", "b", "live", 1)
    assert info.machine is not None
    assert {"cpu", "cores", "memory_mb", "kernel", "versions"} == set(info.machine)
    assert info.finished_us is not None
    assert info.finished_us >= info.started_us
    told = msgspec.json.decode((tmp_path / "run" / "sweep.json").read_bytes(), type=SweepInfo)
    assert (told.plan, told.text, told.overrides, told.theirs) == (
        "plan",
        "title = 'A plan'",
        {"nodes": "1,2,3"},
        ["theirs"],
    )
    assert {"python", "pyzmq", "msgspec", "libzmq"} <= set(told.versions)
    assert [(cell.name, cell.state) for cell in told.cells] == [("a", "done"), ("b", "done"), ("c", "done")]


def test_a_finished_cell_is_not_run_again_and_a_half_written_one_is(tmp_path: Path) -> None:
    """An interruption leaves a folder that does not say that it is finished; nothing of it stays."""
    with pytest.raises(KeyboardInterrupt):
        swept(tmp_path, Places(raising(KeyboardInterrupt())))
    assert (tmp_path / "b" / "left").exists()

    again = Places()
    swept(tmp_path, again)

    assert again.ran == ["b", "c"]


@pytest.mark.parametrize("content", [b"", b"{", b"\0" * 100, b"[]", b'{"run": "b"}', None])
def test_a_cell_whose_run_json_cannot_be_read_is_run_again(tmp_path: Path, content: bytes | None) -> None:
    """It may be empty after a crash of the machine, half of it, or a folder."""
    swept(tmp_path, Places())
    path = tmp_path / "b" / "run.json"
    path.unlink()
    path.mkdir() if content is None else path.write_bytes(content)

    again = Places()
    assert swept(tmp_path, again) == {}

    assert again.ran == ["b"]
    assert load(path).finished_us is not None


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ProcessFailed("the broker ended early"), "the broker ended early"),
        (OSError("no room"), "no room"),
        (KeyError("mistake"), "KeyError: 'mistake'"),
    ],
)
def test_a_cell_that_fails_is_told_and_the_rest_goes_on(tmp_path: Path, error: Exception, reason: str) -> None:
    """With its reason beside what it left, and in sweep.json; the next sweep runs it again."""
    places = Places(raising(error))

    assert swept(tmp_path, places) == {"b": reason}

    assert places.ran == ["a", "b", "c"]
    assert (tmp_path / "b" / "failed.txt").read_text().startswith(reason)
    told = msgspec.json.decode((tmp_path / "sweep.json").read_bytes(), type=SweepInfo)
    assert [(cell.state, cell.reason) for cell in told.cells] == [("done", None), ("failed", reason), ("done", None)]
    again = Places()
    assert swept(tmp_path, again) == {}
    assert again.ran == ["b"]
    assert not (tmp_path / "b" / "failed.txt").exists()


def test_a_larger_sweep_goes_on_from_a_smaller_one(tmp_path: Path) -> None:
    """The cells that are the same stay."""
    swept(tmp_path, Places(), CELLS[:2])

    again = Places()
    swept(tmp_path, again)

    assert again.ran == ["c"]


def test_a_finished_cell_is_not_taken_for_another_of_its_name(tmp_path: Path) -> None:
    """What was done with other lookups is neither kept as this one nor removed."""
    swept(tmp_path, Places())

    with pytest.raises(LocalProtocolError, match=r"b is finished with lookups 5, not 6; name another directory with"):
        swept(tmp_path, Places(), [Cell(name="b", place="local", nodes=2, lookups=6)])
    assert load(tmp_path / "b" / "run.json").finished_us is not None


def test_a_cell_that_was_finished_before_cells_had_a_certain_key_stays(tmp_path: Path) -> None:
    """It was what it is now without that key."""
    swept(tmp_path, Places())
    info = load(tmp_path / "b" / "run.json")
    del info.extra["spec"]["rings"]
    info.save(tmp_path / "b")

    again = Places()
    swept(tmp_path, again)

    assert again.ran == []


def test_static_cells_are_spread_before_the_others_run(tmp_path: Path) -> None:
    """What runs them hears of them alone; what failed of both is told."""
    cells = [*CELLS, Cell(name="s", place="static", nodes=4, lookups=5)]
    places, spread, seen = Places(raising(OSError("no room"))), list[str](), list[float]()

    def run(_directory: SweepDirectory, together: Sequence[Cell], told: Callable[[str, float], None]) -> dict[str, str]:
        spread.extend(cell.name for cell in together)
        assert places.ran == []
        told("s", 0.25)
        return {"s": "gone"}

    with opened(tmp_path, about(), cells) as directory:
        failed = sweep(directory, places, lambda _what, done, _total: seen.append(done), run)

    assert (spread, places.ran) == (["s"], ["a", "b", "c"])
    assert failed == {"s": "gone", "b": "no room"}
    assert seen[0] == 0.25
    assert seen == sorted(seen)


def test_two_sweeps_do_not_work_in_one_directory(tmp_path: Path) -> None:
    """The second is told which process is there."""
    with (
        opened(tmp_path, about(), CELLS),
        pytest.raises(LocalProtocolError, match=r"another sweep \(process \d+\) is at work in"),
    ):
        swept(tmp_path, Places())
    swept(tmp_path, Places())


def test_a_directory_of_something_else_is_left_alone(tmp_path: Path) -> None:
    """Nothing is written there."""
    (tmp_path / "thesis.tex").touch()

    with pytest.raises(LocalProtocolError, match="is not empty and not the directory of a sweep; name a new one"):
        swept(tmp_path, Places())
    assert [each.name for each in tmp_path.iterdir()] == ["thesis.tex"]


def test_progress_is_counted_in_expected_seconds_and_comes_to_its_end(tmp_path: Path) -> None:
    """So that the time left is right when cells differ."""
    seen: list[tuple[str, float, float]] = []

    def hear(what: str, done: float, total: float) -> None:
        seen.append((what, done, total))

    with opened(tmp_path, about(), CELLS) as directory:
        assert isinstance(directory, SweepDirectory)
        sweep(directory, Places(), hear)

    assert [what for what, _, _ in seen[::3]] == ["a", "b", "c"]
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)
    assert seen[-1][1] == pytest.approx(seen[-1][2])


@pytest.mark.parametrize("name", ["../victim", "x/../../victim", "..", ".", "", "{tmp}/victim", "link"])
def test_a_folder_outside_the_directory_is_never_touched(tmp_path: Path, name: str) -> None:
    """Whatever a cell is called; it has failed, and the others run."""
    victim, run = tmp_path / "victim", tmp_path / "run"
    victim.mkdir()
    (victim / "thesis.tex").touch()
    run.mkdir()
    (run / "link").symlink_to(victim)
    (run / "sweep.json").touch()
    strange = Cell(name=name.format(tmp=tmp_path), place="local", nodes=9)
    places = Places()

    failed = swept(run, places, [strange, *CELLS])

    assert list(failed) == [strange.name]
    assert failed[strange.name].startswith(f"the folder of a cell is one in {run}, and {strange.name!r}")
    assert places.ran == ["a", "b", "c"]
    assert [each.name for each in victim.iterdir()] == ["thesis.tex"]


def test_what_cannot_be_removed_is_told(tmp_path: Path) -> None:
    """As the reason why its cell failed."""
    (tmp_path / "sweep.json").touch()
    (tmp_path / "b").touch()

    failed = swept(tmp_path, Places())

    assert list(failed) == ["b"]
    assert "Not a directory" in failed["b"]


GOES_ON = r" cannot be written \(No space left on device\); the same command goes on once there is room$"
FULL = Path("/dev/full")
"""Where nothing can be written for want of room."""


def test_a_disk_that_is_full_when_a_cell_fails_ends_the_sweep(tmp_path: Path) -> None:
    """In one sentence that says where, and what next; then the same sweep goes on."""

    def fail(cell: Cell) -> None:
        if cell.name == "b":
            (tmp_path / "b" / "failed.txt").symlink_to(FULL)
            raise ProcessFailed("the broker ended early")

    places, again = Places(fail), Places()

    with pytest.raises(CannotWrite, match=rf"^{tmp_path}/b/failed.txt{GOES_ON}"):
        swept(tmp_path, places)

    assert places.ran == ["a", "b"]
    assert swept(tmp_path, again) == {}
    assert again.ran == ["b", "c"]


@pytest.mark.parametrize(("filename", "path"), [("/elsewhere/x", "/elsewhere/x"), (None, "{run}/b")])
def test_a_disk_that_is_full_while_a_cell_runs_ends_the_sweep(tmp_path: Path, filename: str | None, path: str) -> None:
    """No other would fare better."""
    error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), *([filename] if filename else []))
    places = Places(raising(error))

    with pytest.raises(CannotWrite, match=f"^{path.format(run=tmp_path)}{GOES_ON}"):
        swept(tmp_path, places)

    assert places.ran == ["a", "b"]


def test_a_disk_that_is_full_from_the_start_is_told(tmp_path: Path) -> None:
    """And when there is room the directory is one of a sweep, though there is no sweep.json."""
    half_written = tmp_path / "sweep.json.new"
    half_written.symlink_to(FULL)

    with pytest.raises(CannotWrite, match=rf"^{tmp_path}/sweep.json{GOES_ON}"):
        swept(tmp_path, Places())

    half_written.unlink()
    half_written.touch()
    assert swept(tmp_path, Places()) == {}


def test_a_disk_that_is_full_when_a_cell_is_finished_ends_the_sweep(tmp_path: Path) -> None:
    """It runs again."""

    def fill(cell: Cell) -> None:
        (tmp_path / cell.name / "run.json.new").symlink_to(FULL)

    with pytest.raises(CannotWrite, match=rf"^{tmp_path}/a/run.json{GOES_ON}"):
        swept(tmp_path, Places(fill))

    again = Places()
    assert swept(tmp_path, again) == {}
    assert again.ran == ["a", "b", "c"]


def test_a_directory_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    """With what to do about it."""
    with pytest.raises(CannotWrite, match=r"x cannot be written \(File name too long\); .* another directory with"):
        swept(tmp_path / ("x" * 300), Places())
    (tmp_path / "file").touch()
    with pytest.raises(LocalProtocolError, match="/file is not a directory; name another with --out"):
        swept(tmp_path / "file" / "run", Places())
