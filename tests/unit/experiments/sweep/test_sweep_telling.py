"""Who has no terminal hears now and then how far a sweep is."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.sweep import command, telling
from experiments.sweep.directory import CellState
from experiments.sweep.telling import TOLD_EVERY_S, Telling


def test_lines_come_every_so_often_and_count_cells() -> None:
    """Those that have ended, of all; everything is passed on."""
    cells = [CellState(name=name) for name in "abc"]
    heard: list[tuple[str, float, float]] = []
    said: list[str] = []
    now = 100.0
    hear = Telling(lambda *args: heard.append(args), cells, said.append, lambda: now)

    hear("a", 0.0, 9.0)
    assert said == []
    cells[0].state = "done"
    now += TOLD_EVERY_S
    hear("b", 3.0, 9.0)
    now += TOLD_EVERY_S / 2
    hear("b", 4.0, 9.0)
    cells[1].state = "failed"
    now += TOLD_EVERY_S / 2
    hear("c", 6.0, 9.0)

    assert said == ["1 of 3 cells; b", "2 of 3 cells, 1 failed; c"]
    assert heard == [("a", 0.0, 9.0), ("b", 3.0, 9.0), ("b", 4.0, 9.0), ("c", 6.0, 9.0)]


def test_a_sweep_without_a_terminal_says_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On standard error, as pipes and log files have it."""
    plan = tmp_path / "p.toml"
    plan.write_text("title = 't'\n[[sweep]]\nwhere = 'sim'\nnodes = 1\nlookups = 2\nseeds = '1..2'")
    monkeypatch.setattr(telling, "TOLD_EVERY_S", 0.0)

    assert command.run(command.read(str(plan), {}), tmp_path / "run", False, None, {})

    said = capsys.readouterr().err.splitlines()
    assert said[0] == "0 of 2 cells; sim-n0001-seed1"
    assert said[-1] == "2 of 2 cells; sim-n0001-seed2"
