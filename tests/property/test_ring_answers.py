"""What members of simulated rings answer and do in moments that random walks seldom meet."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chord.effects import call, cast
from chord.errors import Busy, NotOwner
from chord.messages import (
    ConfirmOwner,
    GetNeighbours,
    Hop,
    Leave,
    Meet,
    Neighbours,
    NextHop,
    Noted,
    Owned,
    Ping,
    Pong,
)
from chord.settings import Settings
from chord.trace import EventTrace
from sim import checks
from sim.cluster import Cluster, address_of
from sim.network import Link, constant
from tests.simulated import in_order, ring_of

STEADY = Link(constant(0.01))


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(2, 7))
def test_a_member_refuses_what_its_predecessor_owns(seed, count):
    """ConfirmOwner is answered by the owner alone; everybody else names the predecessor that it hears from."""
    cluster = ring_of(count, seed)
    client = cluster.client()
    for member in cluster.members():
        key = cluster.rng("key").getrandbits(64)
        owner = checks.right_owner(cluster.members(), key)
        if member.me == owner:
            assert client.ask(call(member.me, ConfirmOwner(key), Owned)) == Owned(owner)
        else:
            with pytest.raises(NotOwner) as raised:
                client.ask(call(member.me, ConfirmOwner(key), Owned))
            assert raised.value.hint == member.state.predecessor


def test_a_member_that_waits_for_a_neighbour_is_busy_and_nothing_else():
    """P9: while its own neighbour query is under way a member answers no other one; all else it answers."""
    cluster = ring_of(4, link=STEADY)
    waiting, silent = in_order(cluster)[:2]
    client = cluster.client()
    cluster.nodes[silent.me.address].process.pause()
    assert cluster.scheduler.run_until(lambda: waiting.pending > 0, 5.0)

    with pytest.raises(Busy, match="waits for an answer of its own"):
        client.ask(call(waiting.me, GetNeighbours(), Neighbours))
    assert waiting.pending > 0
    assert client.ask(call(waiting.me, Ping(), Pong)) == Pong()
    assert client.ask(call(waiting.me, NextHop(silent.me.id), Hop)).final
    assert client.ask(call(waiting.me, GetNeighbours(observe=True), Neighbours)).member == waiting.me


def test_a_ring_of_two_closes_at_once():
    """The first joiner makes a member that was alone look for it, without waiting for the next stabilization."""
    cluster = Cluster(seed=1, settings=Settings(stabilize_s=50.0), link=STEADY)
    cluster.start_many(2)

    took = cluster.converge(30.0)

    assert took is not None, cluster.faults()
    assert took <= 0.5


@pytest.mark.parametrize("seed", range(8))
def test_a_ring_that_only_grows_takes_itself_for_one(seed):
    """However many join at once, no member mistakes a ring that is changing for two, and gives its place up."""
    cluster = ring_of(2, seed, settings=Settings(successors=3, heal_s=0.2))
    for number in range(2, 30):
        cluster.start(address_of(number), list(cluster.nodes)[:3])
        cluster.scheduler.run_for(cluster.rng(f"pause-{number}").uniform(0.0, 0.4))

    assert cluster.converge(60.0) is not None, cluster.faults()[:5]
    assert [row for row in cluster.rows if isinstance(row, EventTrace) and row.kind == "rejoining"] == []


@pytest.mark.parametrize("knows", ["lower", "higher"])
def test_two_rings_become_one_when_either_hears_of_the_other(knows):
    """The higher ring moves to the lower, also when only the lower has heard that there is another."""
    cluster = Cluster(seed=3, link=STEADY)
    for first in (0, 10):
        cluster.start(address_of(first), [])
        cluster.start(address_of(first + 1), [address_of(first)])
    cluster.scheduler.run_for(20.0)
    rings = [[node.host.members[0].me for node in list(cluster.nodes.values())[half : half + 2]] for half in (0, 2)]
    lower, higher = sorted((min(ring, key=lambda member: member.id) for ring in rings), key=lambda member: member.id)
    told, other = (lower, higher) if knows == "lower" else (higher, lower)
    assert cluster.faults()

    cluster.client().ask(cast(told, Meet(other)))

    assert cluster.converge(60.0) is not None, cluster.faults()
    moved = {row.node for row in cluster.rows if isinstance(row, EventTrace) and row.kind == "rejoining"}
    assert lower.id not in moved


@pytest.mark.parametrize("seed", range(4))  # some of these answers are Busy, and would do no harm anyway
def test_an_answer_of_a_former_successor_is_not_applied(seed):
    """A member whose successor left while its answer was under way does not take that one in again for it."""
    cluster = ring_of(5, seed, link=STEADY)
    member, leaver = in_order(cluster)[:2]
    assert cluster.scheduler.run_until(lambda: member.pending == 0, 5.0)
    cluster.network.clog(leaver.me.address, member.me.address)
    assert cluster.scheduler.run_until(lambda: member.pending > 0, 5.0)
    cluster.scheduler.run_for(0.02)
    cluster.client().ask(call(member.me, Leave(leaver.me), Noted))
    assert leaver.me not in member.state.successors

    cluster.network.unclog(leaver.me.address, member.me.address)
    cluster.scheduler.run_for(0.001)

    assert leaver.me not in member.state.successors


def test_nobody_waits_for_a_member_that_left():
    """A member that leaves tells its neighbours: the ring is ideal again without a time-out."""
    cluster = ring_of(6, link=STEADY)

    cluster.leave(address_of(3))

    took = cluster.converge(30.0)
    assert took is not None, cluster.faults()
    assert took <= 2.0 + 1e-9
    assert [row for row in cluster.rows if isinstance(row, EventTrace) and row.kind == "dropped"] == []


def test_a_dead_predecessor_is_noticed_without_another_notifier():
    """A member that hears from its predecessor no more asks it, and gives it up, though nobody else comes forward."""
    cluster = ring_of(6, link=STEADY)
    before, dead, member = in_order(cluster)[:3]
    cluster.network.split([before.me.address], [member.me.address], one_way=True)

    cluster.crash(dead.me.address)
    cluster.scheduler.run_for(cluster.settings.silence_s + 3.0)

    assert member.state.predecessor != dead.me
