"""Runs that have only begun are followed; what of them cannot be read is named, and stops nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from experiments.traces import examples
from experiments.traces.run import BadRun
from experiments.watch.growing import found_so_far


def names(run: Path) -> list[str]:
    return [part.info.run for part in found_so_far([run]).parts]


def test_a_run_may_come_yet(tmp_path: Path) -> None:
    """Missing, then empty, then with a first cell, then with a second."""
    run = tmp_path / "run"
    assert names(run) == []
    run.mkdir()
    assert names(run) == []
    for number in (2, 1):
        replace(examples.RUN, run=f"cell-{number}", started_us=number).save(run / f"cell-{number}")

    assert names(run) == ["cell-1", "cell-2"]


def test_real_clocks_are_read_before_virtual_ones(tmp_path: Path) -> None:
    """Simulated rows count as of now: read first, they would make a backlog of real rows late."""
    for run, source, started_us in (("s", "sim", 0), ("b", "live", 20), ("t", "static", 5), ("a", "mininet", 10)):
        replace(examples.RUN, run=run, source=source, started_us=started_us).save(tmp_path / run)

    assert names(tmp_path) == ["a", "b", "s", "t"]


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    """A run.json that is none, and one that takes another's name; the others are read."""
    for cell, name in (("a", "same"), ("b", "same"), ("c", "other")):
        replace(examples.RUN, run=name).save(tmp_path / cell)
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "run.json").write_text("{")

    found = found_so_far([tmp_path])

    assert sorted(part.info.run for part in found.parts) == ["other", "same"]
    assert [str(tmp_path / cell) in text for cell, text in zip("db", found.problems, strict=True)] == [True, True]


def test_a_directory_that_is_given_twice_is_read_once(tmp_path: Path) -> None:
    """By whatever path."""
    replace(examples.RUN, run="r").save(tmp_path / "run")

    found = found_so_far([tmp_path / "run", tmp_path / "run" / ".." / "run"])

    assert (len(found.parts), found.problems) == (1, [])


def test_a_file_is_no_run(tmp_path: Path) -> None:
    """It never will be one."""
    (tmp_path / "run").write_text("")

    with pytest.raises(BadRun, match="is not a directory; give the directory of a run"):
        found_so_far([tmp_path / "run"])
