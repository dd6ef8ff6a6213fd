"""All figures of the papers in their small form, by the command as people run it."""

from __future__ import annotations

import csv
import json
import subprocess
import sys

import pytest

from experiments.traces.run import TRACES, parts
from experiments.traces.spools import Damage, read_spool
from sim.paper.figures import FIGURES
from sim.paper.report import WIDE
from sim.paper.traced import MOST

LOOK_NOTHING_UP = {"load", "lost-keys"}


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Where everything was left, and what was printed."""
    out = tmp_path_factory.mktemp("paper")
    command = [sys.executable, "-m", "sim", "paper", "--quick", "--json", "--jobs", "2", "--out", str(out)]
    return out, subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


def test_every_figure_is_told_in_json(ran):
    """Exit code 0; each with rows and seeds."""
    _, done = ran
    assert done.returncode == 0, done.stderr

    told = json.loads(done.stdout)

    assert [figure["name"] for figure in told] == list(FIGURES)
    for figure in told:
        assert figure["quick"]
        assert figure["seeds"]
        assert figure["expectations"]
        assert {len(row) for row in figure["rows"]} == {len(figure["columns"])}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_leaves_a_table_and_a_picture(ran, name):
    """The table has all columns and rows of JSON."""
    out, done = ran
    told = next(figure for figure in json.loads(done.stdout) if figure["name"] == name)

    with (out / f"{name}.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == told["columns"]
    assert rows == [["" if value is None else str(value) for value in row] for row in told["rows"]]
    assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", FIGURES)
def test_every_cell_that_looks_keys_up_leaves_traces(ran, name):
    """As analyse reads them, and no more than the first lookups; they are marked as simulated."""
    out, _ = ran
    folder = out / "cells-quick" / name
    cells = FIGURES[name].cells(True)
    assert len(list(folder.iterdir())) == len(cells)
    if name in LOOK_NOTHING_UP:
        assert not list(folder.rglob(TRACES))
        return

    found = parts(folder)

    damage = Damage()
    counts = [sum(len(read_spool(path, damage)) for path in part.spools()) for part in found]
    assert len(counts) == len(cells)
    assert 0 < min(counts) <= max(counts) <= MOST
    assert damage == Damage()
    assert {part.info.source for part in found} == {"sim"}


def test_tables_fit(ran):
    """Each under its title and its seeds; no line is longer than a table may be, nothing is cut off."""
    _, done = ran
    lines = [line.rstrip() for line in done.stderr.splitlines()]

    for figure in json.loads(done.stdout):
        assert figure["title"] in lines
    assert sum(line.startswith("seed") for line in lines) == len(FIGURES)
    assert max(map(len, lines)) <= WIDE
    assert "…" not in done.stderr
