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


def killed(target: str) -> Fault:
    return Fault(kind="kill", at_s=0, target=target)


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
        ({"place": "static", "faults": (killed("share:0.1"), killed("share:0.2"))}, "in static rings nodes fail once"),
        ({"place": "static", "faults": (killed("share:1"),)}, "all nodes have failed (share:1), and nobody is left"),
        ({"faults": (killed("node:99"),)}, "kill is of node:99, and there are node:0 to node:3"),
        ({"place": "sim", "faults": (killed("node:4"),)}, "kill is of node:4, and there are node:0 to node:3"),
        ({"place": "sim", "faults": (killed("primary"),)}, "sim has no brokers, and kill is of primary"),
        (
            {"place": "sim", "faults": (Fault(kind="split", at_s=1),)},
            "a split names the share of the nodes on one side",
        ),
        ({"faults": (killed("host:1"),)}, "only mininet has faults of host:1, local has not"),
        (
            {"dissemination": "brokered", "lookups": 0, "faults": (killed("broker:6"),)},
            "kill is of broker:6, and there are broker:0 to broker:5",
        ),
        ({"nodes": 2, "faults": (killed("node:0"), killed("node:1"))}, "all 2 nodes are killed, and nobody is left"),
        (
            {"lookups": 0, "faults": (killed("node:1"),)},
            "faults come during lookups or during samples, and it asks for",
        ),
        ({"place": "mininet", "topology": "tree,depth=99"}, "'tree,depth=99' has 2^99 places"),
        ({"place": "mininet", "topology": "tree,depth=-1"}, "'tree,depth=-1' is no topology"),
        ({"place": "mininet", "topology": "tree,depth=\u00b2"}, "'tree,depth=\u00b2' is no topology"),
        ({"place": "mininet", "topology": f"tree,depth={'9' * 50}"}, f"'tree,depth={'9' * 50}' is no topology"),
        ({"place": "mininet", "topology": "star"}, "'star' is no topology"),
        ({"place": "mininet", "nodes": 1 << 26}, "at most 256 nodes run there, not 67,108,864"),
        ({"place": "mininet", "bw_mbit": 5000.0}, "--bw is above 0 and at most 1000 Mbit/s, not 5000"),
        ({"place": "mininet", "faults": (killed("share:0.3"),)}, "kill 'share:0.3' hits nobody: name host:N"),
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
        {"faults": (killed("node:3"), killed("node:*"), killed("share:1"))},
        {"place": "mininet", "topology": "tree,depth=2,fanout=3"},
        {
            "place": "mininet",
            "topology": "single",
            "capture": True,
            "faults": (Fault(kind="link_down", at_s=1, target="node:1"),),
        },
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
