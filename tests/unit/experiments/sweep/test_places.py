"""Which cells can run where."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from chord.errors import LocalProtocolError
from experiments.sweep.cells import Cell, Fault
from experiments.sweep.places import place, refusal


def a_cell(**differing: Any) -> Cell:
    return Cell(**{"name": "x", "place": "local", "nodes": 4, "lookups": 10, **differing})


@pytest.mark.parametrize(
    ("differing", "why"),
    [
        ({"place": "static", "dissemination": "direct", "publishers": 1}, "static has no publishers and brokers"),
        ({"place": "sim", "dissemination": "brokered", "publishers": 1}, "sim has no publishers and brokers"),
        ({"place": "sim", "lookups": 0}, "it asks for nothing"),
        ({"topology": "single"}, "only mininet has a topology, link options and capture, local has not"),
        ({"capture": True}, "only mininet has a topology, link options and capture, local has not"),
        ({"latency": "king"}, "only sim has a latency model, local has not"),
        ({"faults": (Fault(kind="link_down", at_s=1),)}, "only mininet has links, local has not"),
        ({"faults": (Fault(kind="split", at_s=1),)}, "processes of one machine cannot be split"),
        ({"faults": (Fault(kind="kill", at_s=1, target="primary"),)}, "there are no brokers to fail without"),
        ({"nodes": 257}, "at most 256 nodes run there, not 257"),
        ({"successors": 0}, "a list has at least one entry there; successors 0 is for static"),
        ({"place": "sim", "rings": 2}, "only static deals its lookups out to several rings, sim does not"),
        ({"place": "static", "rings": 11}, "10 lookups cannot be dealt out to 11 rings"),
        ({"place": "static", "mode": "recursive"}, "static rings know no recursive lookups"),
        ({"place": "static", "faults": (Fault(kind="kill", at_s=1, target="node:0"),)}, "in static rings a share of"),
    ],
)
def test_a_cell_that_cannot_run_there_is_told_why(differing: dict[str, Any], why: str) -> None:
    """Before anything is started."""
    assert (refusal(a_cell(**differing)) or "").startswith(why)


@pytest.mark.parametrize(
    "differing",
    [
        {},
        {"lookups": 0},
        {"dissemination": "brokered", "lookups": 0, "faults": (Fault(kind="kill", at_s=1, target="primary"),)},
        {"place": "sim", "latency": "king", "faults": (Fault(kind="split", at_s=1, target="0.5"),)},
        {"place": "static", "successors": 0, "faults": (Fault(kind="kill", at_s=0, target="share:0.5"),)},
        {"place": "mininet", "topology": "single", "capture": True, "faults": (Fault(kind="link_down", at_s=1),)},
    ],
)
def test_a_cell_that_can_run_there_is_let(differing: dict[str, Any]) -> None:
    """Each place has what it has."""
    assert refusal(a_cell(**differing)) is None


def test_a_place_whose_package_is_missing_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line, when a cell is to run there."""
    monkeypatch.delitem(sys.modules, "experiments.sweep.static", raising=False)
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(LocalProtocolError, match="cells on static need pyarrow, which is missing here"):
        place("static")
