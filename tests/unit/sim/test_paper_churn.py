"""Lookups under churn are judged by who owned the key, and the figure fails when they do."""

from __future__ import annotations

import json

import pytest

from chord.settings import Settings
from sim import checks
from sim.network import constant, uniform
from sim.paper import churn
from sim.paper.churn_lookups import Lookups
from sim.paper.churning import Churning, exponential
from sim.paper.figure import Measured
from sim.paper.traced import Traced

FREQUENT = Settings(
    successors=8, replicas=1, failures=0, stabilize_s=3.0, fingers_s=60.0, repair_s=3_600.0, heal_s=3_600.0
)
NEVER = 1e-9
"""Comings and goings a second in a ring in which none are wanted."""


def right_owners(ring, key):
    return set(ring.owners.sharing(key))


def test_the_judge_knows_the_members_that_sorting_them_gives():
    """After some comings and goings each key has the owner that sorting all active members gives."""
    for crash in (False, True):
        ring = Churning(3, FREQUENT, uniform(0.001, 0.020), 20, 0.5, crash)
        ring.scheduler.run_for(60.0)
        rng = ring.rng("keys")
        assert ring.departed > 15

        for _ in range(100):
            key = rng.getrandbits(64)
            members = [member for member in ring.members() if not member.handed_over]
            assert checks.right_owner(members, key) in right_owners(ring, key)
            _, strictly = ring.owners.answered(ring.owners.ask(key), checks.right_owner(ring.members(), key))
            assert strictly


def test_a_joiner_shares_its_keys_until_it_is_adopted():
    """Before that nobody is wrong who names the member after it; then its keys are its own."""
    ring = Churning(1, FREQUENT, constant(0.010), 12, NEVER, crash=False)
    node = ring.start("10.9.9.9:5000", ["10.0.0.0:5000"])
    me = node.host.members[0].me
    ring.scheduler.run_until(lambda: node.host.members[0].active, 10.0)
    successor = node.host.members[0].state.successor
    assert right_owners(ring, me.id) == {me, successor}

    ring.scheduler.run_until(lambda: node.booted.done, 10.0)

    assert right_owners(ring, me.id) == {me}
    assert ring.owners.answered(ring.owners.ask(me.id), successor) == (False, False)


def test_an_answer_may_name_whoever_owned_the_key_since_it_was_asked_for():
    """By the papers' rule only the owner of the moment of the answer counts."""
    ring = Churning(1, FREQUENT, constant(0.010), 12, NEVER, crash=True)
    first, second = sorted((member.me for member in ring.members()), key=lambda pointer: pointer.id)[:2]
    before, after = ring.owners.ask(first.id), ring.owners.ask(first.id)
    ring.crash(first.address)

    assert ring.owners.answered(before, first) == (True, False)
    assert ring.owners.answered(after, second) == (True, True)
    assert ring.owners.answered(ring.owners.ask(first.id), first) == (False, False)
    assert ring.owners.answered(ring.owners.ask(first.id), None) == (False, False)


def test_an_owner_of_a_moment_between_question_and_answer_is_right():
    """It was neither the owner when the question was asked, nor when the answer came."""
    ring = Churning(1, FREQUENT, constant(0.010), 12, NEVER, crash=True)
    first, second, third, fourth = sorted((member.me for member in ring.members()), key=lambda pointer: pointer.id)[:4]
    questions = [ring.owners.ask(first.id) for _ in range(3)]
    ring.crash(first.address)
    ring.crash(second.address)

    assert ring.owners.answered(questions[0], second) == (True, False)
    assert ring.owners.answered(questions[1], third) == (True, True)
    assert ring.owners.answered(questions[2], fourth) == (False, False)


def test_a_leaver_shares_its_keys_once_it_has_handed_over():
    """From then on nobody is wrong who names the member after it, though it lives until both neighbours know."""
    ring = Churning(1, FREQUENT, constant(0.010), 12, NEVER, crash=False)
    leaver, after = sorted(ring.members(), key=lambda member: member.me.id)[:2]
    question = ring.owners.ask(leaver.me.id)
    assert right_owners(ring, leaver.me.id) == {leaver.me}
    ring.start_leaving(leaver.me.address, 10.0)
    ring.scheduler.run_until(lambda: leaver.handed_over, 5.0)

    assert leaver.active
    assert ring.owners.answered(question, after.me) == (True, False)


@pytest.mark.parametrize("asked_meanwhile", [True, False])
def test_a_process_that_comes_back_owns_its_keys_once_it_has_joined(asked_meanwhile):
    """Its member before the crash is none any more, whether somebody asked for its keys or not."""
    ring = Churning(1, FREQUENT, constant(0.010), 12, NEVER, crash=True)
    me, after = sorted((member.me for member in ring.members()), key=lambda pointer: pointer.id)[:2]
    ring.crash(me.address)
    via = next(address for address in ring.nodes if address != me.address)
    node = ring.start(me.address, [via])
    if asked_meanwhile:
        assert right_owners(ring, me.id) == {after}

    ring.scheduler.run_until(lambda: node.booted.done, 30.0)

    assert node.host.members[0].me.id == me.id
    assert right_owners(ring, me.id) == {node.host.members[0].me}


def test_lookups_fail_where_all_that_members_know_is_gone():
    """Lists of one entry and 27 of 40 members crashed: lookups err, find many dead, and fail once more."""
    settings = Settings(
        successors=1, replicas=1, failures=0, stabilize_s=40.0, fingers_s=300.0, repair_s=3_600.0, heal_s=3_600.0
    )
    ring = Churning(1, settings, exponential(0.050), 40, NEVER, crash=True)
    for address in list(ring.nodes)[1:28]:
        ring.crash(address)
    lookups = Lookups(ring, 60, 10.0)
    ring.scheduler.run_for(40.0)

    assert sum(lookups.hops.values()) == sum(lookups.timeouts.values()) == 60
    assert 40 < lookups.failed_twice <= lookups.erred
    assert sum(number * times for number, times in lookups.timeouts.items()) > 100


def test_who_is_in_another_ring_names_wrong_owners():
    """A ring in halves that do not hear of each other, judged as if it were one."""
    ring = Churning(1, FREQUENT, constant(0.010), 10, NEVER, crash=True)
    ring.network.split(list(ring.nodes)[:5], list(ring.nodes)[5:])
    ring.scheduler.run_for(60.0)
    lookups = Lookups(ring, 60, 10.0)
    ring.scheduler.run_for(20.0)

    assert 10 < lookups.wrong == lookups.wrong_strictly < 50
    assert (lookups.erred, lookups.failed_twice) == (0, lookups.wrong)


def test_rings_that_stand_still_have_neither_failures_nor_dead_to_wait_for():
    """Every lookup is counted, and replies that only came late are told apart."""
    ring = Churning(1, churn.SETTINGS, exponential(0.100), 50, NEVER, crash=False)
    lookups = Lookups(ring, 200, 10.0)
    ring.scheduler.run_for(80.0)

    assert sum(lookups.hops.values()) == 200 == lookups.timeouts[0]
    assert lookups.late > 0
    assert (lookups.wrong, lookups.wrong_strictly, lookups.erred, lookups.failed_twice) == (0, 0, 0, 0)


def test_members_live_as_long_as_they_are_to():
    """30 nodes and a departure every other second: a minute on average, and as many come as go."""
    ring = Churning(5, FREQUENT, constant(0.010), 30, 0.5, crash=True)
    ring.scheduler.run_for(200.0)

    assert ring.departed == pytest.approx(100, abs=30)
    assert ring.joined == pytest.approx(100, abs=30)
    assert len(ring.nodes) == pytest.approx(30 + ring.joined - ring.departed, abs=3)


def test_a_quick_figure_holds_and_one_with_failures_does_not():
    """A row for each kind and rate; a lookup that failed twice is an expectation that does not hold."""
    measured = [Measured(cell, churn.measure(cell, Traced())) for cell in churn.cells(quick=True)[:2]]
    told = churn.table(measured)
    assert [row[:3] for row in told.rows] == [["leaves", 0.05, 200], ["leaves", 0.1, 200]]
    assert all(holds for _, holds in told.agrees)

    measured[0].result["wrong"] = 9
    measured[0].result["failed_twice"] = 1
    told = churn.table(measured)

    assert [text for text, holds in told.agrees if not holds] == [
        "leaves, 0.1 a second: of 200 lookups none fails that is asked once more",
        "leaves, 0.1 a second: of 200 lookups at most 0 fail at first",
    ]
    assert told.rows[1][told.columns.index("failed")] == 9


def cell_of(**changes):
    """A cell of which each of 100 lookups takes three hops."""
    parameters = {"kind": churn.LEAVES, "rate": 0.1, "nodes": 1_000, "seed": 0}
    counted = {"hops": {"3": 100}, "timeouts": {"0": 100}, "bytes_a_node_and_second": 5.0}
    return Measured(parameters | changes, counted | dict.fromkeys(churn.ADDED, 0))


@pytest.mark.parametrize(
    ("nodes", "said"),
    [(1_000, "leaves: 1,000 nodes, crashes: 500 nodes"), (100, "leaves: 100 nodes, crashes: 50 nodes")],
)
def test_the_picture_says_how_many_nodes_there_were(nodes, said):
    """Those of the cells, whatever the form."""
    figure = pytest.importorskip("matplotlib.figure")
    axes = figure.Figure().subplots()
    churn.draw(axes, [cell_of(nodes=nodes), cell_of(kind=churn.CRASHES, nodes=nodes // 2)])

    assert said in axes.get_xlabel()


def test_a_row_has_the_percentiles_and_the_bytes_of_its_cells():
    """Time-outs of all lookups together, and the mean of the rings."""
    waits = {"timeouts": {"1": 2, "3": 97, "4": 1}}
    one, other = (cell_of(seed=seed) for seed in range(2))
    one.result.update(waits, bytes_a_node_and_second=7.0)
    other.result.update(waits)
    told = churn.table([one, other])

    row = dict(zip(told.columns, told.rows[0], strict=True))
    assert [row[name] for name in ("time-outs p1", "time-outs p99", "bytes/node/s")] == [1, 3, 6.0]


def test_bytes_are_of_each_node_and_second():
    """From the first lookup to the last, in a ring of twelve that nobody leaves."""
    cell = {"kind": churn.CRASHES, "rate": NEVER, "nodes": 12, "lookups": 20, "warm_up_s": 10.0, "seed": 4}
    ring = Churning(4, churn.SETTINGS, exponential(churn.MEAN_LATENCY_S), 12, NEVER, crash=True)
    ring.scheduler.run_for(10.0)
    sent, began_at = ring.network.bytes, ring.now
    lookups = Lookups(ring, 20, churn.LOOKUPS_PER_S)
    ring.scheduler.poll_until(lambda: lookups.all_begun, 200.0, 1.0)

    expected = (ring.network.bytes - sent) / (ring.now - began_at) / 12
    assert churn.measure(cell, Traced())["bytes_a_node_and_second"] == pytest.approx(expected)


def test_a_lookup_is_made_once_more_by_another_one_if_its_member_is_gone():
    """And has an answer."""
    ring = Churning(1, FREQUENT, constant(0.010), 12, NEVER, crash=True)
    lookups = Lookups(ring, 1, 1e-9)
    gone = ring.nodes["10.0.0.3:5000"]
    ring.crash("10.0.0.3:5000")
    asked = []
    ask = lookups._ask
    lookups._ask = lambda node, key, again: asked.append((node, key, again)) or ask(node, key, again)
    lookups._retry(gone, 1)
    lookups._retry(ring.nodes["10.0.0.4:5000"], 2)

    (one, key, again), other = asked
    assert ring.nodes[one.host.kernel.address] is one is not gone
    assert (key, again) == (1, True)
    assert other == (ring.nodes["10.0.0.4:5000"], 2, True)


def test_each_rate_has_all_of_its_lookups():
    """10,000 for each of table III, however many cells they are split into."""
    lookups = {}
    for cell in churn.cells(quick=False):
        kind = cell["kind"], cell["rate"]
        lookups[kind] = lookups.get(kind, 0) + cell["lookups"]

    assert [count for (kind, _), count in lookups.items() if kind == churn.LEAVES] == [10_000] * 8
    assert len({json.dumps(cell) for cell in churn.cells(quick=False)}) == len(churn.cells(quick=False))
