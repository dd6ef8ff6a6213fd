"""A cluster of production hosts on virtual time: it converges, answers, and takes the faults that are done to it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chord.effects import sleep
from chord.errors import LookupFailed
from chord.identifiers import IdentifierSpace
from chord.messages import contact
from chord.settings import Settings
from sim import checks
from sim.cluster import Cluster, address_of
from sim.ideal import start_ideal
from sim.network import Link, constant
from sim.scheduler import minutes
from tests.simulated import ring_of


def test_64_nodes_that_join_at_once_become_the_ideal_ring():
    """64 nodes joining at once converge to the ideal ring, and every lookup then finds the right owner."""
    cluster = Cluster(seed=1)
    cluster.start_many(64)

    took = cluster.converge(30.0)

    assert took is not None, f"not ideal at {minutes(cluster.now)}: {cluster.faults()[:5]}"
    assert checks.one_ordered_ring(cluster.members()) == []
    client, rng = cluster.client(), cluster.rng("names")
    for number in range(200):
        walk = client.locate(f"name-{number}", rng.choice(list(cluster.nodes)))
        assert walk.owner == checks.right_owner(cluster.members(), walk.key)


def test_a_ring_of_one_answers_for_everything():
    """The first node is the ring until others join it."""
    cluster = ring_of(1)

    walk = cluster.client().locate("anything", address_of(0))

    assert walk.owner == cluster.members()[0].me
    assert walk.hops == 0


def test_virtual_nodes_share_a_process():
    """Processes of several virtual nodes converge, and each list spans enough other processes."""
    cluster = ring_of(5, settings=Settings(successors=3), vnodes=4)

    assert len(cluster.members()) == 20
    assert checks.one_ordered_ring(cluster.members()) == []


def test_lookups_outlive_a_crash():
    """Right after two of eight nodes crash every name still has an owner, and it is alive."""
    cluster = ring_of(8)
    client = cluster.client()
    for address in (address_of(3), address_of(5)):
        cluster.crash(address)

    for number in range(20):
        walk = client.locate(f"name-{number}", address_of(0))
        assert walk.owner == checks.right_owner(cluster.members(), walk.key)
    assert cluster.converge(30.0) is not None


def test_a_restart_under_the_same_address_joins_as_another_member():
    """A node that crashes and comes back keeps its identifier, and its incarnation is another."""
    cluster = ring_of(6)
    before = cluster.nodes[address_of(2)].host.members[0].me

    cluster.restart(address_of(2), [address_of(0)])

    assert cluster.converge(30.0) is not None
    after = cluster.nodes[address_of(2)].host.members[0].me
    assert after.id == before.id
    assert after.incarnation != before.incarnation


def test_a_leaving_node_takes_its_records_nowhere():
    """A node that leaves hands its records over: what was stored is still there, and the ring closes behind it."""
    cluster = ring_of(6)
    client = cluster.client()
    stored = {f"name-{number}": b"%d" % number for number in range(30)}
    for name, value in stored.items():
        client.ask(client.ring([address_of(0)]).put(name, "entry", value, 600.0))

    cluster.leave(address_of(4))
    cluster.leave(address_of(1))

    assert cluster.converge(30.0) is not None
    for name, value in stored.items():
        entries = client.ask(client.ring([address_of(0)]).get(name))
        assert [entry.value for entry in entries] == [value]


def test_a_paused_process_answers_late_and_all_at_once():
    """A pause holds frames and timers back, and resuming handles them in the order in which they came."""
    cluster = ring_of(1, link=Link(constant(0.01)))
    client = cluster.client()
    node = cluster.nodes[address_of(0)].process
    node.pause()
    outcome = client.process.start(client.ring([address_of(0)]).locate("name"))
    cluster.scheduler.run_for(0.2)
    assert not outcome.done

    node.resume()
    cluster.scheduler.run_for(0.1)

    assert outcome.value().owner == cluster.members()[0].me


def test_a_split_ring_becomes_one_again():
    """Both sides of a split go on as rings of their own, and join up when it is mended."""
    cluster = ring_of(8)
    addresses = list(cluster.nodes)
    cluster.network.split(addresses[:4], addresses[4:])
    cluster.scheduler.run_for(20.0)
    assert cluster.faults()

    cluster.network.mend()

    assert cluster.converge(120.0) is not None, cluster.faults()[:5]


def test_a_node_that_finds_nobody_ends():
    """A process whose bootstrap is dead reports why, and runs no more."""
    cluster = Cluster(seed=1)
    cluster.start(address_of(1), [address_of(0)])

    cluster.scheduler.run_for(60.0)

    assert cluster.nodes == {}
    assert "could not join through 10.0.0.0:5000" in str(cluster.refused[address_of(1)])


def test_asking_a_ring_that_is_gone_fails():
    """A lookup through a crashed node is given up after the client's patience."""
    cluster = ring_of(2)
    for address in list(cluster.nodes):
        cluster.crash(address)

    with pytest.raises(LookupFailed, match=r"no reply from 10\.0\.0\.0:5000"):
        cluster.client().locate("name", address_of(0))


def test_the_rest_of_the_ring_does_not_mind_loss():
    """With one frame of twenty lost or doubled a ring still becomes ideal."""
    link = Link(constant(0.01), loss=0.05, duplication=0.05)

    ring_of(10, link=link, settings=Settings(successors=4, space=IdentifierSpace(16)))


def test_clocks_that_drift_apart_do_not_part_a_ring():
    """Every process has a clock of its own that is fast or slow by up to a twentieth; the ring becomes ideal all the
    same, and lives on after a crash.
    """
    cluster = Cluster(seed=3, drift=0.05)
    cluster.start_many(10)
    assert cluster.converge(30.0) is not None
    began = {address: (cluster.now, node.host.kernel.now) for address, node in cluster.nodes.items()}
    cluster.scheduler.run_for(60.0)
    rates = [
        (cluster.nodes[address].host.kernel.now - kernel_s) / (cluster.now - virtual_s)
        for address, (virtual_s, kernel_s) in began.items()
    ]

    cluster.crash(address_of(4))

    assert cluster.converge(30.0) is not None
    assert min(rates) < 0.985
    assert max(rates) > 1.015
    assert all(0.94 < rate < 1.06 for rate in rates)


def test_a_clock_of_its_own_does_not_change_when_things_are_written_down():
    """Trace rows tell virtual time, which a drifting clock misses by its drift and no more."""
    cluster = Cluster(seed=3, drift=0.01)
    cluster.start_many(4)

    cluster.scheduler.run_for(20.0)

    times = [row.at_us / 1e6 for row in cluster.rows]
    assert times
    assert all(-0.01 <= time_s <= 20.3 for time_s in times)


def test_the_same_seed_draws_the_same_clocks():
    """Two runs leave the same rows, byte for byte; without a drift the rows are others."""
    rows = []
    for drift in (0.05, 0.05, 0.0):
        cluster = Cluster(seed=5, drift=drift)
        cluster.start_many(5)
        cluster.scheduler.run_for(10.0)
        rows.append(cluster.rows)

    assert rows[0] == rows[1] != rows[2]


def test_a_process_wakes_for_what_is_due_and_for_little_else():
    """A call that was answered has its process woken once at most, and what sleeps is woken in time."""
    cluster = ring_of(1, link=Link(constant(0.01)))
    client = cluster.client()

    def asking_and_sleeping():
        for _ in range(5):
            yield from client.ring([address_of(0)]).get("name")
            yield from sleep(0.1)
        return cluster.now

    began = cluster.now
    ended = client.ask(asking_and_sleeping())

    assert began + 0.5 < ended < began + 0.5 + 5 * 0.1


def test_rings_that_only_fingers_lead_between_become_one():
    """A split took the successors of some members, so that one side became two rings which never lost each other."""
    cluster = Cluster(seed=1)
    nodes = start_ideal(cluster, 16)
    members = sorted(cluster.members(), key=lambda member: member.me.id)
    for side in (members[:8], members[8:]):
        for at, member in enumerate(side):
            following = [each.me for each in (*side[at + 1 :], *side[: at + 1])]
            member.state = replace(member.state.with_list(following, closes=True), predecessor=side[at - 1].me)
    for node in nodes:
        node.host.lost.bootstrap.clear()
        node.host.lost.add(contact("10.0.0.1:1"), cluster.now)  # of the other side

    assert cluster.converge(60.0) is not None, cluster.faults()[:5]
