"""A static cell is cut into blocks, each with a ring and a seed of its own, which decide all that comes of it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from experiments.sweep import static
from experiments.sweep.blocks import attempt, blocks_of, seed_of
from experiments.sweep.cells import Cell, CellFailed, Fault
from experiments.traces.run import RunInfo
from sim.static import study


def a_cell(**differing: Any) -> Cell:
    return Cell(**{"name": "x", "place": "static", "nodes": 64, "successors": 0, "lookups": 1001, **differing})


def run(cell: Cell, directory: Path) -> tuple[RunInfo, list[dict[str, Any]]]:
    """Its run and the rows that it leaves."""
    info = static.run(cell, directory, lambda _done, _total: None)
    return info, pq.read_table(directory / "aggregates.parquet").to_pylist()


@pytest.mark.parametrize(
    ("nodes", "lookups", "rings"),
    [
        (1 << 10, 100_000, 1),
        (1 << 10, 1 << 22, 1),
        (1 << 10, (1 << 22) + 1, 2),
        (1 << 10, 10**8, 24),
        (1 << 24, 10**8, 6),
    ],
)
def test_many_lookups_are_cut_into_blocks(nodes: int, lookups: int, rings: int) -> None:
    """Of 2^22 lookups, or in larger rings of as many as there are members: a ring is made for many lookups."""
    assert len(blocks_of(a_cell(nodes=nodes, lookups=lookups))) == rings


def test_lookups_are_dealt_out_evenly() -> None:
    """To as many rings as are asked for, with none left over."""
    lookups = [block.lookups for block in blocks_of(a_cell(lookups=1001, rings=3))]

    assert lookups == [334, 334, 333]


def test_each_block_has_a_seed_of_its_own() -> None:
    """The first that of the cell; the others are those of no other cell with a seed near it."""
    seeds = [seed_of(seed, number) for seed in range(50) for number in range(50)]

    assert len(set(seeds)) == 2500
    assert seeds[::50] == list(range(50))
    assert all(0 <= seed < 2**53 for seed in seeds)


def test_seeds_of_blocks_stay_what_they_are() -> None:
    """Figures of an earlier run are found again."""
    assert [seed_of(1, number) for number in range(3)] == SEEDS


SEEDS = [1, 1973965755700615, 623034932427892]


def test_the_counts_of_each_ring_stand_under_its_seed(tmp_path: Path) -> None:
    """As a study with that seed finds them; run.json tells of all of them."""
    info, rows = run(a_cell(rings=3, seed=5), tmp_path)

    together = Counter[int]()
    for number, block in enumerate(blocks_of(a_cell(rings=3, seed=5))):
        assert block.seed == seed_of(5, number)
        hops = study.run(block, lambda: 0.0).hops.distribution
        assert {row["hops"]: row["count"] for row in rows if row["seed"] == block.seed} == hops
        together.update(hops)
    assert info.extra["rings"] == 3
    assert info.extra["lookups"] == together.total() == 1001
    assert info.extra["mean_hops"] == pytest.approx(sum(hops * count for hops, count in together.items()) / 1001)
    assert 0 < info.extra["mean_hops_error"] < 0.5


def test_what_goes_wrong_in_a_block_is_told_and_not_raised() -> None:
    """Of a mistake with where it was made."""
    known = attempt(blocks_of(a_cell(nodes=2, faults=(Fault(kind="kill", at_s=0, target="share:1.0"),)))[0])
    mistake = attempt(blocks_of(a_cell(nodes=0))[0])

    assert (known.report, known.failure) == (None, "with seed 1 all of 2 nodes fail: nobody is left to ask")
    assert mistake.report is None
    assert mistake.failure.startswith("ValueError: a ring has at least one member\nTraceback")


def test_a_cell_of_which_blocks_fail_says_which(tmp_path: Path) -> None:
    """The first of them, its seed and why, and how many; it leaves no counts."""
    cell = a_cell(nodes=2, lookups=80, rings=8, faults=(Fault(kind="kill", at_s=0, target="share:0.7"),))
    failing = [number for number, block in enumerate(blocks_of(cell), 1) if attempt(block).report is None]
    assert 1 < len(failing) < 8
    first = failing[0]

    with pytest.raises(CellFailed) as failed:
        run(cell, tmp_path)

    assert str(failed.value) == (
        f"block {first} of 8, seed {seed_of(1, first - 1)}: with seed {seed_of(1, first - 1)} all of 2 nodes fail: "
        f"nobody is left to ask ({len(failing)} of 8 blocks failed)"
    )
    assert list(tmp_path.iterdir()) == []
