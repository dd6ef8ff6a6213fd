"""A real ring beside the same ring simulated, and the commands on what is left of it."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from broker.local_ring import LocalRing
from chord.client import Mode, RingClient
from experiments.cli_app import app
from experiments.overlay import same_ring
from experiments.overlay.asked import take
from experiments.overlay.ideal import faults
from experiments.overlay.lookups_of import read
from experiments.overlay.predicting import reckoned_hops
from experiments.overlay.same_ring import compare

NODES, LOOKUPS = 6, 60
SETTLED_S = 90.0


@pytest.fixture(scope="module")
def ring():
    """Six real nodes, whose lists are as short as they can be: they span the three processes that a list has to."""
    with LocalRing() as ring:
        ring.options += ["--successors", "2"]
        ring.grow(NODES)
        yield ring


@pytest.fixture(scope="module")
def snapshot(ring):
    """Of that ring once every finger is right."""
    return take(ring.addresses()[0], wait_s=SETTLED_S)


def test_a_real_snapshot_has_every_member_and_finger(ring, snapshot):
    """Nobody told of fingers; they were asked for next hops."""
    assert faults(snapshot) == []
    assert sorted(snapshot.addresses) == sorted(ring.addresses())
    assert (snapshot.source, snapshot.successors) == ("live", 3)
    assert any(set(member.fingers) - set(member.successors) for member in snapshot.members)


def test_lookups_take_the_same_paths_in_the_simulator(snapshot, tmp_path):
    """In both modes, each of them, and what both leave behind tells the same hops again."""
    found = compare(snapshot, LOOKUPS, list(Mode), seed=3, out=tmp_path / "same")

    assert found.tables == []
    for mode in found.modes:
        assert mode.differences == []
        assert mode.real == mode.simulated == mode.by_tables
        assert sum(mode.real.values()) == mode.same_paths == LOOKUPS
    assert found.same
    for lookups in read([tmp_path / "same"]):
        assert lookups.info.source == "live"
        assert reckoned_hops(lookups) == [row.hops for row in lookups.rows]


def test_a_lookup_that_goes_another_way_is_told(snapshot, monkeypatch):
    """A real client that asks another node first differs, and the verdict is no."""
    nodes = snapshot.addresses
    look_up = RingClient.__init__

    def elsewhere(self, via, *rest, **options):
        look_up(self, [nodes[(nodes.index(via[0]) + 1) % NODES]], *rest, **options)

    monkeypatch.setattr(RingClient, "__init__", elsewhere)
    monkeypatch.setattr(same_ring, "TRIES", 1)
    found = compare(snapshot, 12, [Mode.ITERATIVE], seed=3)

    assert not found.same
    assert found.modes[0].different >= 1
    assert found.modes[0].differences[0].real != found.modes[0].differences[0].simulated


def test_the_commands_work_on_a_real_ring(ring, tmp_path):
    """From a snapshot of it to its measures, and to the stretch of its lookups."""
    file, out = str(tmp_path / "ring.json"), tmp_path / "same"

    def told(*arguments: str):
        result = CliRunner().invoke(app, ["overlay", *arguments, "--json"])
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    assert told("snapshot", ring.addresses()[1], "--out", file, "--wait", "60")["faults"] == []
    measured = told("metrics", file, "--graphml", str(tmp_path / "r.graphml"), "--plot", str(tmp_path / "r.png"))
    assert (measured["members"], measured["strongly_connected"]) == (NODES, True)
    assert told("compare", ring.addresses()[0], "--lookups", "40", "--out", str(out))["same"] is True
    assert {row["way"] for row in told("stretch", str(out))} == {"live, iterative", "live, recursive"}
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")
    assert CliRunner().invoke(app, ["overlay", "stretch", file]).exit_code != 0
