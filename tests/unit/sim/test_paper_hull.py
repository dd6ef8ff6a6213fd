"""Latency against bandwidth: what is counted, and which settings no others beat."""

from __future__ import annotations

from random import Random

import pytest

from chord.settings import Settings
from sim.latency import king
from sim.network import Endpoint, Link, constant
from sim.paper import hull
from sim.paper.churning import Churning, Metered
from sim.paper.figure import Measured
from sim.paper.hull import Timed
from sim.paper.hull_points import lower_hull
from sim.paper.hull_settings import DEFAULT, Tried, tried, tried_by
from sim.paper.traced import Traced
from sim.scheduler import Scheduler

CALM = Settings(stabilize_s=10.0, fingers_s=60.0, repair_s=3_600.0, heal_s=3_600.0)
NEVER = 1e-9


def cell(one, latencies_ms, bytes_s, life_s=3_600.0, ended=None):
    parameters = {"life_s": life_s, "stabilize_s": one.stabilize_s, "successors": one.successors}
    parameters |= {"fingers_s": one.fingers_s, "vnodes": one.vnodes, "nodes": 24, "measured_s": 60.0, "seed": 1}
    counts = {str(latency_ms): latencies_ms.count(latency_ms) for latency_ms in latencies_ms}
    ended = len(latencies_ms) if ended is None else ended
    return Measured(parameters, {"bytes_a_node_and_second": bytes_s, "latencies_ms": counts, "ended": ended})


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        ([(1, 9)], [0]),
        ([(1, 9), (2, 4), (4, 3)], [0, 1, 2]),
        ([(1, 9), (2, 8), (4, 3)], [0, 2]),  # above the line
        ([(1, 9), (2, 6), (3, 3)], [0, 2]),  # on it
        ([(1, 9), (2, 9), (3, 10)], [0]),  # dearer and no better
        ([(1, 9), (2, 5), (3, 4.5), (4, 1)], [0, 1, 3]),
        ([(1, 9), (2, 8), (3, 6), (4, 2)], [0, 3]),
        ([], []),
    ],
)
def test_on_the_hull_is_what_no_mixture_of_others_beats(points, expected):
    """From the cheapest point to the best one, convex from below."""
    assert lower_hull(points) == expected


def test_every_byte_of_every_frame_is_counted():
    """Requests and replies, and what is lost on the way."""
    scheduler = Scheduler()
    network = Metered(scheduler, Random(1), Link(constant(0.010)))
    arrived = []

    def keep(_route, frame):
        arrived.append(frame)

    one, other = (Endpoint(name, keep, keep) for name in ("one", "other"))
    network.attach(one)
    network.attach(other)
    network.request(one, "other", b"12345")
    network.reply(other, one, b"123")
    network.split(["one"], ["other"])
    network.request(one, "other", b"1")

    assert network.bytes == 9
    scheduler.run_for(1.0)
    assert arrived == [b"12345", b"123"]


def test_lookups_are_timed_from_the_question_to_the_answer():
    """Where each frame takes 10 ms a lookup takes some round trips; none is left out, and `end` ends them."""
    ring = Churning(1, CALM, constant(0.010), 16, NEVER, crash=True)
    lookups = Timed(ring, 5.0)
    ring.scheduler.run_for(40.0)
    lookups.end()
    ring.scheduler.run_for(10.0)
    ended = lookups.ended
    ring.scheduler.run_for(10.0)

    assert lookups.ended == ended == sum(lookups.latencies_ms.values())
    assert ended == pytest.approx(200, abs=45)
    assert {latency_ms % 20 for latency_ms in lookups.latencies_ms} == {0}
    assert max(lookups.latencies_ms) <= 100


def test_lookups_with_wrong_answers_are_not_timed():
    """A ring in halves that do not hear of each other, judged as if it were one."""
    ring = Churning(1, CALM, constant(0.010), 10, NEVER, crash=True)
    ring.network.split(list(ring.nodes)[:5], list(ring.nodes)[5:])
    ring.scheduler.run_for(120.0)
    lookups = Timed(ring, 5.0)
    ring.scheduler.run_for(20.0)

    assert lookups.ended > 50
    assert 10 < sum(lookups.latencies_ms.values()) < lookups.ended - 10


def test_a_wrong_answer_has_no_latency():
    """It counts as answered, and not as right."""
    told = hull.table([cell(DEFAULT, [100, 200, 300], 50.0, ended=4)])

    assert told.rows[0][told.columns.index("right")] == 0.75
    assert told.rows[0][told.columns.index("median ms")] == 200
    assert [holds for _, holds in told.agrees] == [False, True, True]


def test_the_defaults_are_held_against_what_costs_less_and_what_is_faster():
    """Nothing within 5 % for fewer bytes, nothing faster by more than 5 %: or the figure says which setting is."""
    slow, cheap, fast = Tried(30.0), Tried(3.0), Tried(0.2)
    told = hull.table(
        [cell(DEFAULT, [100], 1_000.0), cell(slow, [300], 50.0), cell(cheap, [104], 300.0), cell(fast, [90], 2_000.0)]
    )
    assert [row[-1] for row in told.rows] == ["yes", "yes", "no", "yes"]
    assert [holds for _, holds in told.agrees] == [True, False, False]
    assert f"{cheap}: 300" in told.agrees[2][0]

    told = hull.table([cell(DEFAULT, [100], 1_000.0), cell(slow, [300], 50.0), cell(fast, [96], 2_000.0)])
    assert [holds for _, holds in told.agrees] == [True, True, True]


def test_the_defaults_are_those_of_dht_join():
    """They are among what is tried, once for each lifetime, and no combination is tried twice."""
    assert Tried(0.4, 8, 5.0, 1) == DEFAULT
    assert DEFAULT.settings() == Settings()
    for quick in (True, False):
        found = list(tried(quick))
        assert found.count(DEFAULT) == 1
        assert len(set(found)) == len(found)
        assert len(hull.cells(quick)) == len(found) * len(hull.LIVES_S)


def test_bytes_are_of_the_nodes_there_were_on_average():
    """As many come as go only in the long run: between those at the beginning and those in the end."""
    cell = {**hull.cells(quick=True)[0], "stabilize_s": 10.0, "nodes": 10, "life_s": 30.0, "measured_s": 30.0}
    ring = Churning(1, tried_by(cell).settings(), king(1), 10, 10 / 30.0, crash=True)
    ring.scheduler.run_for(hull.WARM_UP_S)
    sent, before = ring.network.bytes, len(ring.nodes)
    Timed(ring, 10 * hull.LOOKUPS_PER_S)
    ring.scheduler.run_for(30.0)

    assert before != len(ring.nodes)
    expected = (ring.network.bytes - sent) / ((before + len(ring.nodes)) / 2) / 30.0
    assert hull.measure(cell, Traced())["bytes_a_node_and_second"] == pytest.approx(expected)


def test_a_shorter_pause_costs_more_bytes():
    """A small ring on latencies with a long tail, measured twice."""
    quick = {**hull.cells(quick=True)[0], "nodes": 10, "measured_s": 30.0}
    often, seldom = (hull.measure({**quick, "stabilize_s": pause_s}, Traced()) for pause_s in (1.0, 10.0))

    assert often["bytes_a_node_and_second"] > 1.5 * seldom["bytes_a_node_and_second"] > 0
    assert often["ended"] == seldom["ended"] > 0
    assert sum(often["latencies_ms"].values()) == often["ended"]
