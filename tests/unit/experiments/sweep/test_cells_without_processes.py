"""Simulated and static cells leave the run that any other place leaves."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from chord.errors import LocalProtocolError
from chord.trace import LookupTrace
from experiments.sweep import simulated, static
from experiments.sweep.blocks import blocks_of
from experiments.sweep.cells import Cell, Fault
from experiments.traces.run import RunInfo, load
from experiments.traces.spools import Damage, read_spool
from sim.static import study


def a_cell(**differing: Any) -> Cell:
    return Cell(**{"name": "x", "place": "sim", "nodes": 8, "lookups": 30, **differing})


def simulate(cell: Cell, directory: Path) -> tuple[RunInfo, list[LookupTrace]]:
    """Its run and the lookups of its traces."""
    info = simulated.run(cell, directory, lambda _done, _total: None)
    rows = [row for path in sorted((directory / "traces").iterdir()) for row in read_spool(path, Damage())]
    assert load(directory / "run.json").source == "sim"
    return info, [row for row in rows if isinstance(row, LookupTrace)]


def test_a_simulated_cell_leaves_each_lookup_as_a_row(tmp_path: Path) -> None:
    """Through each node in turn."""
    info, lookups = simulate(a_cell(), tmp_path)

    assert [row.outcome for row in lookups] == ["ok"] * 30
    assert len({row.hop_list[0].address for row in lookups}) == 8
    assert (info.ring_size, info.source, info.mode, info.seed) == (8, "sim", "iterative", 1)
    assert info.extra["unanswered"] == 0


def test_virtual_nodes_and_recursive_lookups_are_simulated_too(tmp_path: Path) -> None:
    """The ring size counts members."""
    info, lookups = simulate(a_cell(nodes=4, vnodes=3, mode="recursive"), tmp_path)

    assert (info.ring_size, info.vnodes, info.mode) == (12, 3, "recursive")
    assert {(row.mode, row.outcome) for row in lookups} == {("recursive", "ok")}


def test_a_seed_decides_everything_of_a_simulated_cell(tmp_path: Path) -> None:
    """Names, times, and who is killed."""
    faults = (Fault(kind="kill", at_s=0.1, target="node:*"), Fault(kind="stop", at_s=0.15, target="node:*"))
    cell = a_cell(faults=faults, lookup_rate=100.0)

    (one, first), (other, second), (third, _) = (
        simulate(each, tmp_path / name)
        for name, each in (("a", cell), ("b", cell), ("c", a_cell(faults=faults, seed=2)))
    )

    assert first == second
    assert one.faults == other.faults != third.faults
    assert one.faults is not None
    assert [fault["kind"] for fault in one.faults] == ["kill", "stop"]
    assert one.kill_us == one.faults[0]["at_us"]


def test_a_large_simulated_ring_is_ideal_from_the_start(tmp_path: Path) -> None:
    """That rings form is seen in smaller ones."""
    info, lookups = simulate(a_cell(nodes=300), tmp_path)

    assert info.extra["virtual_ring_ready_s"] is None
    assert [row.outcome for row in lookups] == ["ok"] * 30


def test_a_simulated_split_cuts_and_heals(tmp_path: Path) -> None:
    """Each side answers what it is asked through; both faults are told."""
    faults = (Fault(kind="split", at_s=0.1, target="0.5"), Fault(kind="heal", at_s=2.0))

    info, lookups = simulate(a_cell(lookups=60, lookup_rate=20.0, faults=faults), tmp_path)

    assert [(fault["kind"], fault["target"]) for fault in info.faults or []] == [("split", "0.5"), ("heal", "")]
    assert sum(row.timeouts for row in lookups) > 0


def test_a_latency_that_is_none_is_refused(tmp_path: Path) -> None:
    """With those that there are."""
    with pytest.raises(LocalProtocolError, match=r"latency is one of constant, uniform, king, .*, not 'warp'"):
        simulated.run(a_cell(latency="warp"), tmp_path, lambda _done, _total: None)


def test_a_static_cell_leaves_counts_by_hops(tmp_path: Path) -> None:
    """Those of the engine, and nothing else."""
    cell = a_cell(place="static", nodes=64, vnodes=2, successors=0, lookups=5000, seed=3)
    told: list[tuple[int, int]] = []

    info = static.run(cell, tmp_path, lambda done, total: told.append((done, total)))

    table = pq.read_table(tmp_path / "aggregates.parquet")
    assert table.schema.equals(static.SCHEMA)
    rows = table.to_pylist()
    (block,) = blocks_of(cell)
    assert {row["hops"]: row["count"] for row in rows} == study.run(block, lambda: 0.0).hops.distribution
    assert {(row["source"], row["seed"], row["ring_size"], row["vnodes"], row["mode"]) for row in rows} == {
        ("static", 3, 128, 2, "iterative")
    }
    assert {row["timeouts"] for row in rows} == {0}
    assert (info.source, info.ring_size, info.successors) == ("static", 128, None)
    assert told[-1] == (5000, 5000)


def test_time_outs_of_a_static_cell_stand_beside_its_hops(tmp_path: Path) -> None:
    """All of them, where a share of the nodes has failed."""
    faults = (Fault(kind="kill", at_s=0, target="share:0.3"),)
    cell = a_cell(place="static", nodes=256, lookups=5000, faults=faults)

    static.run(cell, tmp_path, lambda _done, _total: None)

    (block,) = blocks_of(cell)
    report = study.run(block, lambda: 0.0)
    rows = pq.read_table(tmp_path / "aggregates.parquet").to_pylist()
    together = Counter(report.timeouts.distribution)
    assert sum(row["timeouts"] for row in rows) == sum(number * count for number, count in together.items()) > 0
    assert sum(row["count"] for row in rows) == 5000
