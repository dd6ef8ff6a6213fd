"""The plans that come with Ringcast make cells that can run, and the tables of others can be read."""

from __future__ import annotations

import pytest

from experiments import plans
from experiments.sweep.command import read
from experiments.sweep.estimate import estimate_s


@pytest.mark.parametrize("name", plans.names())
def test_every_cell_of_a_plan_can_run(name: str) -> None:
    """And every table that it names is there."""
    asked = read(name, {})

    assert asked.cells
    assert asked.left_out == {}
    assert set(asked.plan.theirs) <= set(plans.theirs())
    assert all(estimate_s(cell) > 0 for cell in asked.cells)


def test_the_papers_and_seeds_have_plans() -> None:
    """A figure that a sweep can draw, a seed that measured something."""
    assert {"quick", "path-length", "path-distribution", "failures", "churn", "load", "stretch", "split"} <= set(
        plans.names()
    )
    assert {"seed-000-ring-start", "seed-001-topologies", "seed-003-latency"} <= set(plans.names())


def test_the_tables_of_others_are_labelled_and_whole() -> None:
    """Whose they are, and a value in each column of each row."""
    for table in plans.theirs().values():
        assert set(table) == {"title", "whose", "columns", "rows"}
        assert all(len(row) == len(table["columns"]) for row in table["rows"])


def test_a_quick_sweep_has_every_kind_of_cell() -> None:
    """In about a minute."""
    cells = read("quick", {}).cells

    assert {cell.place for cell in cells} == {"local", "sim", "static"}
    assert {cell.dissemination for cell in cells} == {None, "direct", "brokered"}
    assert sum(map(estimate_s, cells)) < 60
