"""What spool files grow by lands once, by whole files, whenever the process is killed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from experiments.traces import examples
from experiments.traces.damaged import Damaged
from experiments.traces.run import RunInfo
from experiments.watch import landing
from experiments.watch.growing import found_so_far
from experiments.watch.landing import Landing

NOW_US = 1_700_000_100_000_000
START_US = 1_700_000_000_000_000


def encoded(*numbers: int) -> bytes:
    """Lookups that so many microseconds after the start began."""
    rows = [replace(examples.LOOKUP, trace_id=number, start_us=START_US + number) for number in numbers]
    return b"".join(map(msgspec.msgpack.encode, rows))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of real processes that has left no trace yet."""
    replace(examples.RUN, run="r", source="live", started_us=START_US).save(tmp_path / "run")
    (tmp_path / "run" / "traces").mkdir()
    return tmp_path / "run"


def opened(run: Path) -> Landing:
    return Landing(run / "analysis" / "watch", run / "analysis")


def land(landing: Landing, run: Path) -> int:
    return landing.land(found_so_far([run]).parts, NOW_US)


def landed(run: Path) -> list[int]:
    """When every landed row began, in the order of the files."""
    files = sorted((run / "analysis" / "watch" / "landing").glob("*.parquet"))
    return [us - START_US for path in files for us in pq.read_table(path)["start_us"].to_pylist()]


def test_a_spool_that_grew_lands_from_where_it_ended(run: Path) -> None:
    """Also in the middle of a row, and after its writer gave it its final name."""
    part = run / "traces" / "a.part"
    part.write_bytes(encoded(1, 2, 3)[:-5])
    tail = opened(run)

    assert (land(tail, run), tail.damage().cut_tails, tail.damage().files) == (2, 1, ["../traces/a"])
    part.write_bytes(encoded(1, 2, 3, 4))
    part.rename(part.with_suffix(".trace"))
    assert (land(tail, run), land(tail, run)) == (2, 0)

    assert landed(run) == [1, 2, 3, 4]
    assert not tail.damage()


def test_another_process_goes_on_where_the_first_was_killed(run: Path) -> None:
    """What landed is not read again, from whatever place the command is given; what had not landed is."""
    (run / "traces" / "a.part").write_bytes(encoded(1, 2) + b"\xc1\xc1" + encoded(3))
    land(opened(run), run)
    (run / "traces" / "a.part").write_bytes(encoded(1, 2) + b"\xc1\xc1" + encoded(3, 4))

    second = opened(run)

    assert (second.rows, second.damage().garbage) == (3, 1)
    assert land(second, run) == 1
    assert landed(run) == [1, 2, 3, 4]


def test_a_kill_before_the_rename_leaves_nothing_behind(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows land with the next process, once; the torn file is gone, and was never in the stream's sight."""
    (run / "traces" / "a.part").write_bytes(encoded(1, 2))

    def killed(_path: Path, _target: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Path, "rename", killed)
        land(opened(run), run)
    assert landed(run) == []

    assert land(opened(run), run) == 2
    assert landed(run) == [1, 2]
    assert [path.name for path in (run / "analysis" / "watch" / "landing").iterdir() if path.name[0] == "."] == []


def test_names_are_new_for_ever(run: Path) -> None:
    """A landing folder that was removed is made again under other names: the stream leaves out those that it knows."""
    names = set()
    for _ in range(2):
        (run / "traces" / "a.part").write_bytes(encoded(1))
        land(opened(run), run)
        (path,) = (run / "analysis" / "watch" / "landing").glob("*.parquet")
        names.add(path.name)
        path.unlink()

    assert len(names) == 2


def test_a_spool_that_begins_otherwise_is_another_one(run: Path) -> None:
    """A cell that is run again writes files of the same names: they are read from the start."""
    (run / "traces" / "a.trace").write_bytes(encoded(1, 2))
    tail = opened(run)
    land(tail, run)

    (run / "traces" / "a.trace").write_bytes(encoded(5, 6, 7))

    assert land(tail, run) == 3
    assert landed(run) == [1, 2, 5, 6, 7]


def test_a_run_json_that_comes_late_does_not_make_rows_land_twice(tmp_path: Path) -> None:
    """The same bytes are the same rows, whatever the run is called."""
    (tmp_path / "run" / "traces").mkdir(parents=True)
    (tmp_path / "run" / "traces" / "a.part").write_bytes(encoded(1))
    land(opened(tmp_path / "run"), tmp_path / "run")
    replace(examples.RUN, run="named").save(tmp_path / "run")

    assert land(opened(tmp_path / "run"), tmp_path / "run") == 0


def test_a_backlog_lands_in_several_files(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file has no more rows than one batch of the stream may hold."""
    monkeypatch.setattr(landing, "MOST_ROWS", 2)
    for number in range(3):
        (run / "traces" / f"{number}.trace").write_bytes(encoded(2 * number, 2 * number + 1))
    tail = opened(run)

    assert [land(tail, run) for _ in range(4)] == [2, 2, 2, 0]
    assert landed(run) == [0, 1, 2, 3, 4, 5]


def test_rows_of_impossible_times_are_left_out(run: Path) -> None:
    """One row of next year would make every other one late."""
    year_us = 365 * 86_400_000_000
    (run / "traces" / "a.trace").write_bytes(encoded(1, year_us, -2 * START_US))
    tail = opened(run)

    assert (land(tail, run), tail.damage().bad_rows) == (1, 2)


def test_a_virtual_clock_does_not_move_the_watermark(tmp_path: Path) -> None:
    """Simulated rows keep their time for windows, and happened when they were read for the watermark."""
    info: RunInfo = replace(examples.RUN, run="s", source="sim", started_us=0)
    info.save(tmp_path / "run")
    (tmp_path / "run" / "traces").mkdir()
    row = replace(examples.LOOKUP, start_us=5_000_000)
    (tmp_path / "run" / "traces" / "a.trace").write_bytes(msgspec.msgpack.encode(row))

    land(opened(tmp_path / "run"), tmp_path / "run")

    (path,) = (tmp_path / "run" / "analysis" / "watch" / "landing").glob("*.parquet")
    table = pq.read_table(path)
    assert table["start_us"].to_pylist() == [5_000_000]
    assert [at.timestamp() for at in table["at"].to_pylist()] == [NOW_US / 1e6]


def test_a_backlog_of_real_rows_is_not_behind_simulated_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In several portions, what the watermark follows never goes back."""
    monkeypatch.setattr(landing, "MOST_ROWS", 2)
    run = tmp_path / "run"
    for name, source, started_us in (("sim", "sim", 0), ("live", "live", START_US)):
        info: RunInfo = replace(examples.RUN, run=name, source=source, started_us=started_us)
        info.save(run / name)
        (run / name / "traces").mkdir()
    for number in range(2):
        (run / "sim" / "traces" / f"{number}.trace").write_bytes(encoded(2 * number, 2 * number + 1))
        (run / "live" / "traces" / f"{number}.trace").write_bytes(encoded(2 * number, 2 * number + 1))
    tail = opened(run)

    while land(tail, run):
        pass

    files = sorted((run / "analysis" / "watch" / "landing").glob("*.parquet"))
    followed = [at for path in files for at in pq.read_table(path)["at"].to_pylist()]
    assert len(followed) == 8
    assert followed == sorted(followed)


def test_a_spool_that_goes_away_while_it_is_read_lands_nothing(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a cell that is run again: the others land, and the file itself if it comes back."""
    for name in "ab":
        (run / "traces" / f"{name}.part").write_bytes(encoded(ord(name)))
    opening = Path.open

    def removing(path: Path, *arguments: Any, **named: Any) -> Any:
        file = opening(path, *arguments, **named)
        if path.name == "a.part":
            path.unlink()
        return file

    tail = opened(run)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", removing)

        assert land(tail, run) == 1
    (run / "traces" / "a.part").write_bytes(encoded(ord("a")))

    assert land(tail, run) == 1
    assert landed(run) == [ord("b"), ord("a")]


@pytest.mark.parametrize("size", [0, 4, -9])
def test_a_landed_file_that_was_cut_is_named(run: Path, size: int) -> None:
    """Nobody knows any more how far spool files were read; the error says what to remove."""
    (run / "traces" / "a.part").write_bytes(encoded(1, 2, 3))
    land(opened(run), run)
    (path,) = (run / "analysis" / "watch" / "landing").glob("*.parquet")
    path.write_bytes(path.read_bytes()[:size])

    with pytest.raises(Damaged, match=rf"{path.name} is damaged .*; remove .*/watch to have everything counted anew"):
        opened(run)
