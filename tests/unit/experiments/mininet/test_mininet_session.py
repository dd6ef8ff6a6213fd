"""Where a run goes: a directory that is new or empty, and nobody else's meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from chord.errors import LocalProtocolError
from experiments.mininet import session
from experiments.mininet.shaping import Shape
from experiments.sweep.cells import Cell
from experiments.traces.run import RunInfo

CELL = Cell(name="lookups", place="mininet", nodes=4, lookups=100)


class Played(Exception):
    """In place of what a network would have said."""


@pytest.fixture
def during(monkeypatch) -> list[Callable[[], object]]:
    """What happens while the first cell is played, which then fails; every machine can play it."""
    todo: list[Callable[[], object]] = []

    def play(_cell: Cell, directory: Path, *_: object) -> RunInfo:
        directory.mkdir()
        for each in todo:
            each()
        raise Played(str(directory))

    monkeypatch.setattr(session, "check", lambda *_: Shape())
    monkeypatch.setattr(session, "play", play)
    return todo


def run(out: Path | None) -> None:
    session.run([CELL], out, None, lambda *_: None)


def test_a_second_run_is_kept_out_of_the_directory_of_a_first(during, tmp_path):
    """Before it has written anything there."""

    def second() -> None:
        with pytest.raises(LocalProtocolError, match=r"another Mininet run \(process \d+\) is at work in"):
            run(tmp_path / "run")

    during.append(second)

    with pytest.raises(Played):
        run(tmp_path / "run")


@pytest.mark.usefixtures("during")
def test_a_directory_with_something_in_it_is_refused(tmp_path):
    """It stays as it is."""
    (tmp_path / "mine").touch()

    with pytest.raises(LocalProtocolError, match=r"is not empty; name a new one with --out"):
        run(tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_runs_that_are_not_told_where_to_go_do_not_meet(during, tmp_path, monkeypatch):
    """Each makes the first folder that is not there."""
    monkeypatch.chdir(tmp_path)

    def second() -> None:
        during.clear()
        with pytest.raises(Played, match="runs/mininet-2/lookups"):
            run(None)

    during.append(second)

    with pytest.raises(Played, match="runs/mininet-1/lookups"):
        run(None)


def test_what_cannot_be_played_leaves_no_directory(tmp_path, monkeypatch):
    """Every cell is looked at before the first is played."""

    def check(cell: Cell, _loss: object) -> Shape:
        if cell is not CELL:
            raise LocalProtocolError("nothing to do")
        return Shape()

    monkeypatch.setattr(session, "check", check)

    with pytest.raises(LocalProtocolError, match="nothing to do"):
        session.run([CELL, Cell(name="x", place="mininet", nodes=1, lookups=0)], tmp_path / "run", None, print)

    assert not (tmp_path / "run").exists()
