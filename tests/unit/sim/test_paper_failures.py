"""Lookups among the dead are counted as table II counts them, and their owners judged by sorting."""

from __future__ import annotations

import pytest

from chord.errors import LookupFailed
from sim.paper import failures
from sim.paper.figure import Measured
from sim.paper.rings import TableRule
from sim.paper.traced import Traced

EIGHTH = 2**61
SMALL = {"nodes": 60, "successors": 12, "failed": 0.0, "rings": 2, "lookups": 60, "seed": 3}


def ring_of_eight(successors=1):
    """Nodes at every eighth of the circle, with fingers one, two and four places ahead."""
    return TableRule([number * EIGHTH for number in range(8)], successors)


def alive(*dead):
    return {number * EIGHTH for number in range(8)} - {number * EIGHTH for number in dead}


@pytest.mark.parametrize(
    ("place", "dead", "expected"),
    [
        (7, (), (2, 0)),  # over 4 to 6, which precedes it
        (1, (), (0, 0)),  # the first node precedes the key
        (0, (), (0, 0)),  # it owns the key
        (8, (), (0, 0)),
        (7, (4,), (2, 1)),  # over 2 to 6
        (7, (6,), (2, 1)),  # over 4, which tries 6, to 5
        (7, (4, 2), (3, 2)),  # over 1 and 5 to 6
        (7, (1, 2, 4), (0, 3)),  # nobody else is known
    ],
)
def test_the_rule_takes_the_last_living_one_before_the_key(place, dead, expected):
    """Hops and time-outs by hand, from node 0 to a key at the node of a place."""
    assert ring_of_eight().walk(0, (place * EIGHTH) % 2**64, alive(*dead)) == expected


@pytest.mark.parametrize(("places", "key", "hops"), [((0,), 3, 0), ((0, 3), 2, 0), ((0, 3, 5), 4, 1)])
def test_members_that_are_fingers_of_their_own_do_not_go_on_for_ever(places, key, hops):
    """In rings so small that fingers go all the way round."""
    ring = [place * EIGHTH for place in places]

    assert TableRule(ring, 1).walk(0, key * EIGHTH, set(ring)) == (hops, 0)


def test_successor_lists_are_candidates():
    """A list of five reaches places that no finger does."""
    assert ring_of_eight(5).walk(0, 6 * EIGHTH, alive()) == (1, 0)
    assert ring_of_eight(5).walk(0, 6 * EIGHTH, alive(5, 4)) == (1, 2)


def test_with_nobody_dead_production_code_walks_by_the_rule():
    """Lookup by lookup; nothing is lost, and no owner is wrong."""
    row = failures.measure(SMALL, Traced())

    assert (row["lookups"], row["lost"], row["wrong"]) == (120, 0, 0)
    assert row["hops"] == row["rule hops"]
    assert row["timeouts"] == row["rule timeouts"] == {"0": 120}


def test_each_share_of_failed_nodes_is_measured_by_itself():
    """On the same rings, of either length of the lists."""
    for quick in (True, False):
        found = [(cell["successors"], cell["failed"]) for cell in failures.cells(quick)]
        assert set(found) == {(length, failed) for length in (20, 4) for failed in failures.FAILED}


def test_time_outs_are_attempts_at_the_dead():
    """The more have failed, the more of them; every owner found is the first living node."""
    rows = [failures.measure(SMALL | {"failed": failed}, Traced()) for failed in (0.1, 0.3, 0.5)]

    means = [sum(int(value) * number for value, number in row["timeouts"].items()) / row["lookups"] for row in rows]
    assert means[0] < means[1] < means[2]
    assert sum(row["wrong"] for row in rows) == 0


def test_lists_that_are_too_short_lose_lookups():
    """Half the nodes gone, and two successors each."""
    row = failures.measure(SMALL | {"successors": 2, "failed": 0.5}, Traced())

    assert row["lost"] > 0


def test_a_wrong_owner_is_seen(monkeypatch):
    """One that is alive and does not own the key."""

    def anybody(_asker, _space, via, walk):
        walk.owners = tuple(via)
        return walk.owners[0]
        yield

    monkeypatch.setattr(failures, "find_owner", anybody)
    row = failures.measure(SMALL | {"rings": 1}, Traced())

    assert row["wrong"] > 50


def test_a_lookup_that_fails_is_lost_and_has_no_path(monkeypatch):
    """It counts for nothing else."""

    def nobody(_asker, _space, _via, _walk):
        raise LookupFailed("nobody answered")
        yield

    monkeypatch.setattr(failures, "find_owner", nobody)
    row = failures.measure(SMALL | {"rings": 1}, Traced())

    assert (row["lost"], row["wrong"], row["hops"]) == (60, 0, {})


def row_of(failed, lost=0, path=None, waits=None):
    """What is measured when all comes out as the reference has it."""
    path = round(100 * (path or failures.FAILURES_PATH_REFERENCE[failed]))
    waits = round(100 * (failures.FAILURES_TIMEOUTS_REFERENCE[failed] if waits is None else waits))
    spread = {"0": 100 - path % 100, "1": path % 100}
    hops = {str(int(value) + path // 100): number for value, number in spread.items()}
    timeouts = {str(waits // 100): 100 - waits % 100, str(waits // 100 + 1): waits % 100}
    return {"lookups": 100, "lost": lost, "wrong": 0, "hops": hops, "timeouts": timeouts} | {
        "rule hops": hops,
        "rule timeouts": timeouts,
        "ring timeouts": [waits / 100 - 0.1, waits / 100 + 0.1],
    }


def measured(**changes):
    results = {(20, failed): row_of(failed) for failed in failures.FAILED}
    results |= {(4, failed): row_of(failed, 3) for failed in failures.FAILED}
    results[20, 0.4] = row_of(0.4, **changes)
    return [
        Measured({"nodes": 1000, "successors": successors, "failed": failed}, result)
        for (successors, failed), result in results.items()
    ]


def test_what_agrees_with_the_reference_stands_beside_it():
    """Published numbers are marked as those that have yet to be checked."""
    told = failures.table(measured())

    row = dict(zip(told.columns, told.rows[5], strict=True))
    assert len(row) == len(told.columns)
    assert (row["list"], row["failed"], row["reference path"]) == (20, 0.5, 5.087)
    assert row["path"] == pytest.approx(5.09)
    assert row["published path (to be checked)"] == 5.09
    assert row["published time-outs (to be checked)"] == 5.10
    assert all(holds for _, holds in told.agrees)


@pytest.mark.parametrize("changes", [{"lost": 1}, {"path": 5.0}, {"waits": 3.0}])
def test_what_differs_is_told(changes):
    """A single lookup that is lost, or a mean that is six percent off."""
    told = failures.table(measured(**changes))

    assert [text for text, holds in told.agrees if not holds] != []
    assert all("40% failed" in text for text, holds in told.agrees if not holds)


def test_another_way_than_the_rule_is_told():
    """A path that is longer than by the rule on the same rings."""
    cells = measured()
    row = cells[2].result
    row["rule hops"] = {"3": 90, "4": 10}

    (said,) = [text for text, holds in failures.table(cells).agrees if not holds]
    assert said.startswith("lists of 20, 20% failed: path and time-outs within 5% of the rule's")


def test_published_points_are_drawn_as_crosses():
    """Path and time-outs."""
    figure = pytest.importorskip("matplotlib.figure")
    axes = figure.Figure().subplots()
    failures.draw(axes, measured())

    crosses = [list(line.get_ydata()) for line in axes.get_lines() if line.get_marker() == "x"]
    assert crosses == [list(failures.FAILURES_PATH.values()), list(failures.FAILURES_TIMEOUTS.values())]


def test_the_same_seed_gives_the_same():
    """Another one another ring."""
    small = SMALL | {"nodes": 30, "rings": 1, "lookups": 10}

    first, again, other = (failures.measure(small | {"seed": seed}, Traced()) for seed in (3, 3, 4))

    assert first == again != other
