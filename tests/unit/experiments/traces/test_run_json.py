"""run.json keeps its contract or is refused with a line that says what to do."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chord.spool import Spool
from experiments.traces.run import BadRun, RunInfo, SubscriberInfo, load, parts
from experiments.traces.spools import started_us

GOOD: dict[str, Any] = {
    "run": "r",
    "source": "live",
    "cluster": "c",
    "ring_size": 4,
    "successors": 3,
    "bits": 64,
    "seed": None,
    "commit": "abc",
    "started_us": 1,
}


def write(directory: Path, content: object) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "run.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_run_info_survives_the_round_trip_with_extra_keys(tmp_path: Path) -> None:
    """What is saved is what is loaded, keys unknown to the contract included."""
    info = RunInfo(**GOOD, subscribers={"s": SubscriberInfo(topics=["a"], from_start=True)}, extra={"note": [1]})

    path = info.save(tmp_path / "deep" / "run")

    assert load(path) == info
    assert json.loads(path.read_text())["note"] == [1]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is not JSON"),
        ("[]", "does not describe a run: Expected `object`"),
        ({**GOOD, "ring_size": "many"}, r"does not describe a run: .*`\$.ring_size`"),
        ({key: value for key, value in GOOD.items() if key != "commit"}, "missing required field `commit`"),
        ({**GOOD, "source": "dream"}, "Invalid enum value 'dream'"),
        ({**GOOD, "ring_size": 0}, "says ring_size 0; a ring has at least 1 member"),
    ],
)
def test_load_refuses_what_breaks_the_contract(tmp_path: Path, content: object, said: str) -> None:
    """The line names the file and what is wrong in it."""
    path = write(tmp_path, content)

    with pytest.raises(BadRun, match=f"run.json .*{said}"):
        load(path)


def test_parts_are_found_below_the_run_but_not_in_what_the_analysis_wrote(tmp_path: Path) -> None:
    """A sweep has one run.json a ring size; they come in the order of size."""
    write(tmp_path / "n16", {**GOOD, "run": "b", "ring_size": 16})
    write(tmp_path / "n4", {**GOOD, "run": "a"})
    write(tmp_path / "analysis", {**GOOD, "run": "not mine"})

    assert [part.info.run for part in parts(tmp_path)] == ["a", "b"]


def test_parts_refuses_a_directory_without_runs(tmp_path: Path) -> None:
    """Missing, a file, empty, or with one name twice: one line each."""
    (tmp_path / "file").touch()

    with pytest.raises(BadRun, match="nowhere is missing; give the directory of a run"):
        parts(tmp_path / "nowhere")
    with pytest.raises(BadRun, match="file is not a directory"):
        parts(tmp_path / "file")
    with pytest.raises(BadRun, match=r"holds no run\.json.*and no trace files; give the directory of a run, or of"):
        parts(tmp_path)
    write(tmp_path / "a", GOOD)
    write(tmp_path / "b", GOOD)
    with pytest.raises(BadRun, match="holds 2 parts named 'r'"):
        parts(tmp_path)


@pytest.mark.parametrize("below", ["", "traces"])
def test_parts_takes_trace_files_without_run_json(tmp_path: Path, below: str) -> None:
    """What `dht lookup --trace DIR` leaves in DIR, or traces/ alone: only its name and its beginning are known."""
    directory = tmp_path / "asked"
    Spool(directory / below, "one").close()
    (started,) = [started_us(path) for path in (directory / below).iterdir()]
    (directory / below / "zz.part").write_bytes(b"garbage")

    (part,) = parts(directory)

    assert (part.info.run, part.info.source, part.info.ring_size) == ("asked", "unknown", None)
    assert part.info.started_us == started
    assert [path.name for path in part.spools()] == sorted(path.name for path in (directory / below).iterdir())


def test_parts_refuses_the_traces_folder_of_a_run(tmp_path: Path) -> None:
    """Its run.json, one folder up, says more than the traces alone."""
    write(tmp_path, GOOD)
    Spool(tmp_path / "traces", "one").close()

    with pytest.raises(BadRun, match=r"belongs to the run in .*; give that directory"):
        parts(tmp_path / "traces")


def test_what_nobody_knows_is_saved_as_null(tmp_path: Path) -> None:
    """A ring without lists, or several rings: run.json still describes a run."""
    info = RunInfo(**{**GOOD, "ring_size": None, "successors": None, "bits": None})

    info.save(tmp_path)

    assert load(tmp_path / "run.json") == info


@pytest.mark.parametrize("listing", [1, 2, 3])
def test_a_spool_that_is_sealed_while_it_is_listed_is_there_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listing: int
) -> None:
    """Its writer renames it before, between or after the listings of open and of finished files."""
    (tmp_path / "a.part").write_bytes(b"")
    listed = 0
    glob = Path.glob

    def sealing(folder: Path, pattern: str) -> Iterator[Path]:
        nonlocal listed
        listed += 1
        found = list(glob(folder, pattern))
        if listed == listing and (tmp_path / "a.part").exists():
            (tmp_path / "a.part").rename(tmp_path / "a.trace")
        return iter(found)

    monkeypatch.setattr(Path, "glob", sealing)

    (part,) = parts(tmp_path)

    assert part.info.started_us > 0
    assert [path.stem for path in part.spools()] == ["a"]


def test_a_spool_that_went_away_began_now(tmp_path: Path) -> None:
    """Nobody knows better, and nothing fails."""
    before = time.time_ns() // 1000

    assert started_us(tmp_path / "a.part") >= before
