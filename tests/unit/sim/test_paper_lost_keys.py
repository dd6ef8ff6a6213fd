"""What is not found after a mended failure is what nobody held any more."""

from __future__ import annotations

import pytest

from chord import ring_state
from chord.settings import Settings
from sim import checks
from sim.cluster import Cluster
from sim.ideal import start_ideal
from sim.paper import lost_keys
from sim.paper.figure import Measured
from sim.paper.traced import Traced

SMALL = {"nodes": 24, "keys": 60, "replicas": 1, "failed": 0.25, "seed": 2}


@pytest.mark.parametrize("replicas", [1, 3])
def test_records_are_placed_where_the_ring_holds_them(replicas):
    """At the owner that sorting gives and the next ones, and nowhere else."""
    cluster = Cluster(1, Settings(replicas=replicas))
    start_ideal(cluster, 12)
    holders = lost_keys.place(cluster, ["a", "b", "c"])

    for name, addresses in holders.items():
        key = cluster.settings.space.key(name)
        owner = checks.right_owner(cluster.members(), key)
        assert addresses[0] == owner.address
        assert len(set(addresses)) == replicas
        held = [member.me.address for member in cluster.members() if member.store.page(name, "", 0.0).entries]
        assert sorted(held) == sorted(addresses)
    owner = next(member for member in cluster.members() if member.me.address == holders["a"][0])
    assert holders["a"][1:] == [pointer.address for pointer in ring_state.replicas(owner.state, replicas)]


def test_exactly_the_keys_of_the_dead_are_lost():
    """With one holder each; every question is answered."""
    result = lost_keys.measure(SMALL, Traced())

    assert result["failed"] == 6
    assert 0 < result["lost"] == result["missing"] < 60
    assert (result["wrong"], result["unanswered"]) == (0, 0)
    assert 0 < result["mended_s"] < 60


def test_replicas_outlive_their_owners():
    """Two more holders, the same nodes fail."""
    result = lost_keys.measure(SMALL | {"replicas": 3}, Traced())

    assert result["missing"] == result["lost"] < lost_keys.measure(SMALL, Traced())["lost"]
    assert (result["wrong"], result["unanswered"]) == (0, 0)


def test_a_record_that_a_living_node_lost_is_seen(monkeypatch):
    """It is not found, though its holder is there."""
    place = lost_keys.place

    def forgetful(cluster, names):
        holders = place(cluster, names)
        return {**holders, "key-never-put": [next(iter(cluster.nodes))]}

    monkeypatch.setattr(lost_keys, "place", forgetful)
    result = lost_keys.measure(SMALL | {"failed": 0.0}, Traced())

    assert (result["wrong"], result["missing"], result["lost"]) == (1, 1, 0)


def test_a_record_that_should_be_lost_and_is_found_is_seen(monkeypatch):
    """So is one that nobody answers for, by itself."""
    place, ask = lost_keys.place, lost_keys._ask
    monkeypatch.setattr(lost_keys, "place", lambda *arguments: {**place(*arguments), "key-0": ["10.9.9.9:5000"]})
    found = lost_keys.measure(SMALL | {"failed": 0.0}, Traced())
    monkeypatch.setattr(lost_keys, "_ask", lambda client, name, *rest: name == "key-0" or ask(client, name, *rest))
    silent = lost_keys.measure(SMALL | {"failed": 0.0}, Traced())

    assert [found[name] for name in ("lost", "missing", "wrong", "unanswered")] == [1, 0, 1, 0]
    assert [silent[name] for name in ("lost", "missing", "wrong", "unanswered")] == [1, 0, 0, 1]


def test_a_ring_that_is_not_mended_in_time_is_told(monkeypatch):
    """By no time at all."""
    monkeypatch.setattr(lost_keys, "MENDED_WITHIN_S", 0.0)

    assert lost_keys.measure(SMALL, Traced())["mended_s"] is None


def test_the_deviation_is_that_of_random_rings():
    """Arcs and keys both count: of a thousand nodes 2.7 percent at one half."""
    assert lost_keys.deviation(0.5, 1_000, 2_000) == pytest.approx(0.025)
    assert lost_keys.deviation(0.5, 1_000, 10**9) == pytest.approx(0.02236, abs=1e-5)


RESULT = {"failed": 200, "lost": 400, "missing": 400, "wrong": 0, "unanswered": 0, "mended_s": 8.0}


def measured(**changes):
    cell = {"nodes": 1_000, "keys": 2_000, "failed": 0.2, "seed": 1}
    three = RESULT | {"lost": 16, "missing": 16}
    return [Measured(cell | {"replicas": 3}, three), Measured(cell | {"replicas": 1}, RESULT | changes)]


def test_a_row_stands_beside_what_is_published():
    """Of one holder; of three the expectation is our own."""
    told = lost_keys.table(measured())
    one, three = (dict(zip(told.columns, row, strict=True)) for row in told.rows)

    assert (one["replicas"], one["not found"], one["published not found"]) == (1, 0.2, 0.2)
    assert (three["replicas"], three["published not found"]) == (3, None)
    assert three["expected"] == pytest.approx(0.008)
    assert all(holds for _, holds in told.agrees)


def test_each_number_stands_in_its_column():
    """What is published is the share of nodes that did fail, whatever was meant to."""
    numbers = {"failed": 203, "lost": 390, "missing": 394, "wrong": 4, "unanswered": 5, "mended_s": 8.5}
    told = lost_keys.table(measured(**numbers))

    assert told.rows[0] == [1, 1_000, 2_000, 0.203, 0.197, 0.195, 0.203, 0.203, 4, 5, 8.5]
    assert told.rows[1] == [3, 1_000, 2_000, 0.2, 0.008, 0.008, None, pytest.approx(0.008), 0, 0, 8.0]
    assert told.columns[3:8] == ["failed", "not found", "holders failed", "published not found", "expected"]
    assert told.columns[8:] == ["wrong", "unanswered", "mended s"]


@pytest.mark.parametrize(("missing", "holds"), [(278, False), (282, True), (518, True), (522, False)])
def test_three_standard_deviations_are_close(missing, holds):
    """Of 2,000 keys, which is 120 keys at a fifth of 1,000 nodes."""
    agrees = lost_keys.table(measured(missing=missing)).agrees

    assert [held for text, held in agrees if "standard deviations" in text] == [holds]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"mended_s": None}, "mended"),
        ({"wrong": 1}, "exactly"),
        ({"unanswered": 1}, "exactly"),
        ({"missing": 530}, "as many of the keys as of the nodes"),
    ],
)
def test_what_differs_is_told(changes, text):
    """One expectation each."""
    (said,) = [text for text, holds in lost_keys.table(measured(**changes)).agrees if not holds]

    assert said.startswith("20% failed, 1 holder:")
    assert text in said


def test_the_published_line_is_drawn_as_crosses():
    """As many of the keys as of the nodes."""
    figure = pytest.importorskip("matplotlib.figure")
    axes = figure.Figure().subplots()
    lost_keys.draw(axes, measured())

    (crosses,) = [line for line in axes.get_lines() if line.get_marker() == "x"]
    assert list(map(tuple, crosses.get_xydata())) == [(0.2, 0.2)]
