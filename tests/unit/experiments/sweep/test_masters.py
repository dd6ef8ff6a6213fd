"""Where Spark spreads static cells, and how many cores each task takes."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from typer.testing import CliRunner

from broker.java import NoJava
from chord.errors import LocalProtocolError
from experiments.cli_app import app
from experiments.sweep import masters
from experiments.sweep.cells import Cell

LONG, SHORT = 10**9, 1000


def a_cell(**differing: Any) -> Cell:
    return Cell(**{"name": "x", "place": "static", "nodes": 64, "lookups": SHORT, **differing})


@pytest.fixture(autouse=True)
def able(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of four cores with all that Spark needs."""
    monkeypatch.setattr(masters, "find_spec", lambda _name: True)
    monkeypatch.setattr(masters, "choose", lambda _environment: None)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1, 2, 3})


def test_what_takes_long_is_spread_over_all_cores_unasked() -> None:
    """And nothing else: Java takes seconds to start."""
    assert masters.chosen(None, [a_cell(lookups=LONG)]) == "local[4]"
    assert masters.chosen(None, [a_cell()]) is None
    assert masters.chosen(None, [a_cell(place="sim", lookups=LONG)]) is None


def test_a_master_that_is_asked_for_is_taken() -> None:
    """However short the cells are; an empty one keeps them here."""
    assert masters.chosen("spark://h:7077", [a_cell()]) == "spark://h:7077"
    assert masters.chosen("", [a_cell(lookups=LONG)]) is None
    assert masters.chosen("local[2]", []) is None, "all of them are finished"


def test_cells_stay_here_where_spark_cannot_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a package of its own, without Java, with a single core."""
    cells = [a_cell(lookups=LONG)]
    with monkeypatch.context() as without:
        without.setattr(masters, "find_spec", lambda name: None if name == "pandas" else True)
        assert masters.chosen(None, cells) is None
        assert masters.lacking() == ["pandas"]

    def no_java(_environment: object) -> None:
        raise NoJava("none")

    with monkeypatch.context() as without:
        without.setattr(masters, "choose", no_java)
        assert masters.chosen(None, cells) is None
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0})
    assert masters.chosen(None, cells) is None


@pytest.mark.parametrize(
    ("master", "nodes", "memory_mb", "cores"),
    [
        ("local[2]", 1 << 24, 24_000, 1),
        ("local[2]", 1 << 24, 1_000, 2),
        ("local[*]", 1 << 26, 12_000, 2),
        ("local[16]", 1 << 26, 24_000, 4),
        ("local[4, 3]", 1 << 26, 1_000, 4),
        ("local", 1 << 26, 1_000, 1),
        ("spark://h:7077", 1 << 26, 1_000, 1),
    ],
)
def test_rings_take_no_more_than_half_of_the_memory(master: str, nodes: int, memory_mb: int, cores: int) -> None:
    """A task takes several cores where rings on each of them would."""
    assert masters.cores_a_task(master, [a_cell(), a_cell(nodes=nodes)], memory_mb) == cores


def test_virtual_nodes_take_twice_the_memory() -> None:
    """Their processes are sorted with them."""
    assert masters.needed_mb(a_cell(nodes=1 << 20, vnodes=16)) > 1.9 * masters.needed_mb(a_cell(nodes=1 << 24)) - 200


def test_a_master_for_no_static_cell_is_refused() -> None:
    """It would do nothing."""
    with pytest.raises(LocalProtocolError, match="--master is for static cells, and there are none"):
        masters.check("local[2]", [a_cell(place="sim")])
    masters.check("local[2]", [a_cell()])
    masters.check(None, [a_cell(place="sim")])


def test_static_rings_need_no_plan() -> None:
    """Fingers alone then, in rings of the sizes that are named."""
    arguments = ["sweep", "--where", "static", "--nodes", "2^10..2^24", "--lookups", "10^8", "--dry-run", "--json"]

    done = CliRunner().invoke(app, arguments)

    told = json.loads(done.output)
    assert [cell["cell"] for cell in told["cells"]] == [f"static-n{1 << power}-r0-seed1" for power in range(10, 25)]
    assert (told["plan"], told["left_out"], told["master"]) == ("static-scale", {}, "local[4]")
