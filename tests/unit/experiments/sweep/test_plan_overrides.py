"""What the options of the command line change of a plan."""

from __future__ import annotations

import pytest

from experiments.sweep.plan_file import BadPlan
from tests.unit.experiments.sweep.planned import cells, names

PLAN = """
    [[sweep]]
    where = "local"
    nodes = 4
    lookups = 10

    [[sweep]]
    where = "sim"
    lookups = 10

    [[sweep]]
    dissemination = "direct"
    publishers = 1

    [[sweep]]
    where = "sim"
    figure = "load"
"""


def test_a_value_replaces_that_of_the_blocks_that_name_it() -> None:
    """Here the first: the others keep what they have."""
    assert [cell.nodes for cell in cells(PLAN, nodes="2,16")] == [2, 16, 8, 8, 1]


def test_a_value_that_no_block_names_goes_to_all() -> None:
    """But not to figures, which have their own."""
    assert [cell.vnodes for cell in cells(PLAN, vnodes="3")] == [3, 3, 3, 1]


def test_nothing_leaves_out_the_blocks_that_name_it() -> None:
    """As `--size ''` does."""
    found = names(PLAN, publishers="", nodes="")

    assert found == ["sim-n0008-seed1", "sim-load"]


def test_a_place_chooses_its_blocks() -> None:
    """Those of other places are left out."""
    assert names(PLAN, where="sim") == ["sim-n0008-seed1", "sim-load"]


def test_a_place_that_no_block_names_gets_all() -> None:
    """Figures are drawn in the simulator alone, and stay away."""
    assert {cell.place for cell in cells(PLAN, where="mininet")} == {"mininet"}


def test_options_that_leave_nothing_are_refused() -> None:
    """It would be a run of nothing."""
    with pytest.raises(BadPlan, match="nothing to sweep: the options leave no block of the plan"):
        cells("[[sweep]]\nnodes = 4", nodes="")
