"""The first lookups of each cell leave their traces, as every run does, and they are what the figure counted."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from chord.trace import EventTrace
from experiments.traces.run import parts
from experiments.traces.spools import Damage, read_spool
from sim.cli_app import app
from sim.paper import churn, course, distribution, failures, hull, load, path_length, prototype, split, stretch
from sim.paper.counts import total
from sim.paper.rings import ideal, path_lengths
from sim.paper.traced import MOST, Traced

PATHS = {"nodes": 32, "kind": "lists", "rings": 2, "lookups": 100, "seed": 1}
CHURN = {"kind": "leaves", "rate": 0.2, "nodes": 30, "lookups": 40, "warm_up_s": 10.0, "seed": 1}
HULL = {**hull.cells(True)[0], "stabilize_s": 3.0, "nodes": 10, "vnodes": 2, "measured_s": 30.0}
COUNTED = [
    pytest.param(path_length, PATHS, lambda result: [result["counts"]], id="path-length"),
    pytest.param(distribution, PATHS | {"kind": "fingers"}, lambda result: [result["counts"]], id="path-distribution"),
    pytest.param(
        failures,
        {"nodes": 60, "successors": 12, "failed": 0.3, "rings": 2, "lookups": 60, "seed": 3},
        lambda result: [result["hops"]],
        id="failures",
    ),
    pytest.param(churn, CHURN, lambda result: [result["hops"]], id="churn"),
    pytest.param(
        stretch,
        {"nodes": 40, "underlay": "uniform", "askers": 4, "lookups": 20, "seed": 1},
        lambda result: [result["hops"]],
        id="stretch",
    ),
    pytest.param(
        prototype,
        {"nodes": 40, "successors": 8, "beds": 2, "seed": 1},
        lambda result: [result["hops"]],
        id="prototype",
    ),
]


def measured(module, cell, folder, commit="one"):
    """The result of a cell, and what analyse finds in its folder."""
    figure = replace(module.FIGURE, cells=lambda _quick: [cell])
    (one,) = course.measured(figure, folder, True, 1, commit, lambda: None)
    (part,) = parts(folder)
    damage = Damage()
    rows = [row for path in part.spools() for row in read_spool(path, damage)]
    assert damage == Damage()
    return one.result, part.info, rows


@pytest.mark.parametrize(("module", "cell", "hops_of"), COUNTED)
def test_traces_tell_the_hops_that_the_figure_counts(module, cell, hops_of, tmp_path):
    """Lookup for lookup, so their mean too; what was looked up both ways is there both ways."""
    result, info, rows = measured(module, cell, tmp_path)

    once = [row for row in rows if row.mode == "iterative"]
    assert Counter(row.hops for row in once) == total(hops_of(result))
    assert {(row.outcome, row.owner is None, row.name) for row in rows} == {("ok", False, "")}
    assert len({row.trace_id for row in rows}) == len(rows)
    assert (info.run, info.source, info.commit) == (f"{module.FIGURE.name}-quick-0", "sim", "one")
    assert (info.ring_size, info.bits, info.seed, info.extra["parameters"]) == (cell["nodes"], 64, cell["seed"], cell)
    if module is stretch:
        assert [row.key for row in once] == [row.key for row in rows if row.mode == "recursive"]


def test_traces_tell_the_latencies_that_the_figure_counts(tmp_path):
    """Of the ten sites: up to the predecessor, and from there to the owner."""
    result, info, rows = measured(prototype, {"nodes": 40, "successors": 8, "beds": 2, "seed": 1}, tmp_path)

    ours = sorted(latency for latency, times in total([result["latencies"]]).items() for _ in range(times))
    assert sorted(row.duration_us + row.owner_us for row in rows) == pytest.approx(ours, abs=2)
    assert info.successors == 8


def test_lookups_that_fail_leave_the_error(tmp_path):
    """And no owner."""
    cell = {"nodes": 60, "successors": 2, "failed": 0.5, "rings": 1, "lookups": 60, "seed": 3}
    result, _, rows = measured(failures, cell, tmp_path)

    lost = [row for row in rows if row.outcome == "LookupFailed"]
    assert len(lost) == result["lost"] > 0
    assert {row.owner for row in lost} == {None}
    assert len(rows) == 60


def test_rows_of_different_cells_have_different_identifiers():
    """So that they may be counted together."""
    one, other = Traced("one"), Traced("other")
    for traced in (one, other):
        path_lengths(ideal(10, 1, seed=1), 20, random.Random(1), traced)

    assert len({row.trace_id for row in one.rows + other.rows}) == 40


def test_lookups_by_ring_clients_leave_their_own_rows(tmp_path):
    """Under churn each that was answered; through a split those of either side, and of puts and gets."""
    result, info, rows = measured(hull, HULL, tmp_path / "hull")
    assert len(rows) == result["ended"] > 0
    assert (info.ring_size, info.successors) == (20, 8)

    result, info, rows = measured(
        split, {"nodes": 8, "cut_off": 3, "cut_s": 5, "after_s": 1, "seed": 1}, tmp_path / "split"
    )
    assert {row.origin for row in rows} == {"left", "right"}
    assert info.ring_size == 8


def test_no_more_than_the_first_lookups_leave_a_trace():
    """The figure counts the others all the same."""
    hosts = ideal(20, 1, seed=1)
    traced = Traced(most=30)
    counts = path_lengths(hosts, 100, random.Random(1), traced)

    assert sum(counts.values()) == 100
    assert Counter(row.hops for row in traced.rows) == path_lengths(hosts, 30, random.Random(1))


def test_of_a_cell_the_first_thousand_leave_a_trace(tmp_path):
    """And run.json says so."""
    result, info, rows = measured(path_length, PATHS | {"lookups": 600}, tmp_path)

    assert sum(result["counts"].values()) == 1_200
    assert len(rows) == info.extra["most_lookups"] == MOST == 1_000


def test_the_help_says_how_many_leave_a_trace():
    """So that nobody takes them for all."""
    said = " ".join(CliRunner().invoke(app, ["paper", "--help"], env={"COLUMNS": "300"}).stdout.split())

    assert f"the first {MOST:,} leave traces there, not all that a figure counts" in said


def test_fingers_alone_are_no_lists(tmp_path):
    """What the analysis expects of lists is not for them."""
    assert measured(path_length, PATHS, tmp_path / "lists")[1].successors == 10
    assert measured(path_length, PATHS | {"kind": "fingers"}, tmp_path / "fingers")[1].successors is None


def test_rows_that_are_no_lookups_are_left_out():
    """What happened to members."""
    traced = Traced()
    traced.left(EventTrace(kind="joined", node=1, address="a:1", at_us=0), ideal(1, 1, seed=1)[0].settings)

    assert (traced.rows, traced.settings) == ([], None)


def test_a_figure_that_looks_nothing_up_leaves_no_traces(tmp_path):
    """Its result stands alone."""
    cell = {"nodes": 20, "keys": 100, "seed": 1}
    course.measured(replace(load.FIGURE, cells=lambda _quick: [cell]), tmp_path, True, 1, "one", lambda: None)

    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [course.RESULT]


def test_traces_are_the_same_byte_for_byte_and_those_of_the_last_commit(tmp_path):
    """Measured anew they replace what was there, whatever a stopped process left."""
    first, _, rows = measured(path_length, PATHS, tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.rglob("*.trace")}
    (folder,) = tmp_path.iterdir()
    folder.rename(f"{folder}.part")
    again, info, _ = measured(path_length, PATHS, tmp_path, "two")

    assert (again, info.commit) == (first, "two")
    assert {path.name: path.read_bytes() for path in tmp_path.rglob("*.trace")} == before != {}
    assert len(rows) == 200


def test_what_cannot_be_written_is_not_there(tmp_path, monkeypatch):
    """Neither the result nor the traces, and they are measured once more."""

    def full(*_arguments):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Traced, "save", full)
        with pytest.raises(OSError, match="No space left"):
            measured(path_length, PATHS, tmp_path)
    assert not (tmp_path / course.name_of(PATHS)).exists()

    assert len(measured(path_length, PATHS, tmp_path)[2]) == 200
