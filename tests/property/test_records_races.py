"""Records while the ring changes under them, each race stopped at its exact moment; clients put and read throughout."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chord.member import Member
from chord.messages import Entry
from chord.settings import Settings
from sim.cluster import Cluster, address_of
from tests.property.record_traffic import Traffic

RARE = 60.0
"""Pauses of unprompted repairs: longer than most of these runs."""

seeds = st.integers(0, 10**6)


def moment(traffic: Traffic, condition, at_most_s: float = 20.0) -> bool:
    """Stop right after the event that makes a condition true; False if none does."""
    return traffic.cluster.scheduler.run_until(condition, at_most_s)


@pytest.mark.parametrize("dies", ["nobody", "joiner", "successor", "predecessor"])
@settings(max_examples=3)
@given(seed=seeds, count=st.integers(4, 6))
def test_a_joiner_that_is_adopted_before_the_transfer(seed, count, dies):
    """Its predecessor names it as the owner, and it has no record yet; then one of the three dies."""
    traffic = Traffic(seed, count)
    before = traffic.members()
    joiner = traffic.cluster.start(address_of(99), [address_of(0)]).host.members[0]

    def adopted_by() -> Member | None:
        return next((one for one in before if one.state.successors[:1] == (joiner.me,)), None)

    assert moment(traffic, lambda: adopted_by() is not None)
    predecessor = adopted_by()
    assert predecessor is not None
    assert not joiner.reach.complete
    dead = {"joiner": joiner, "successor": traffic.following(joiner, 2)[1], "predecessor": predecessor}.get(dies)
    if dead is not None:
        traffic.cluster.crash(dead.me.address)
    traffic.cluster.scheduler.run_for(3.0)

    traffic.settle()
    assert traffic.put > 40
    assert traffic.read > 80


@settings(max_examples=6)
@given(seed=seeds, count=st.integers(1, 5), joiners=st.integers(2, 4), apart=st.floats(0.0, 0.3))
def test_several_that_join_in_the_same_gap(seed, count, joiners, apart):
    """They lie between the same two members, and know nothing of each other when they begin."""
    traffic = Traffic(seed, count)
    space = traffic.cluster.settings.space
    first = traffic.members()[0]
    following = traffic.following(first, 2)[-1]
    gap = space.distance(first.me.id, following.me.id) or space.size

    def between(address: str) -> bool:
        return 0 < space.distance(first.me.id, space.member(traffic.cluster.settings.cluster, address)) < gap

    addresses = [address for address in map(address_of, range(1000, 9000)) if between(address)][:joiners]
    for address in addresses:
        traffic.cluster.start(address, [address_of(0)])
        traffic.cluster.scheduler.run_for(apart)
    traffic.cluster.scheduler.run_for(3.0)

    traffic.settle()
    assert not traffic.cluster.refused


@settings(max_examples=5)
@given(seed=seeds, count=st.integers(4, 7))
def test_an_owner_that_dies_while_its_successor_knows_nothing(seed, count):
    """The member before it has dropped it; the successor still believes that it has it for a predecessor."""
    traffic = Traffic(seed, count)
    owner = traffic.owner(traffic.names[0])
    before, _, successor = traffic.following(traffic.following(owner, count)[-1], 3)
    traffic.cluster.crash(owner.me.address)

    assert moment(traffic, lambda: before.state.successors[:1] == (successor.me,))
    assert successor.state.predecessor == owner.me
    traffic.cluster.scheduler.run_for(5.0)

    traffic.settle()


@settings(max_examples=5)
@given(seed=seeds, leavers=st.integers(2, 3), replicas=st.integers(1, 3), apart=st.floats(0.0, 0.1))
def test_neighbours_that_leave_together(seed, leavers, replicas, apart):
    """Each hands its records to one that may be on its way out too."""
    traffic = Traffic(seed, 6, Settings(replicas=replicas, repair_s=RARE))
    for member in traffic.following(traffic.owner(traffic.names[0]), leavers):
        traffic.cluster.start_leaving(member.me.address, 4.0)
        traffic.cluster.scheduler.run_for(apart)
    traffic.cluster.scheduler.run_for(5.0)

    traffic.settle()
    assert len(traffic.cluster.nodes) == 6 - leavers


@pytest.mark.parametrize("vnodes", [1, 3])
@settings(max_examples=3)
@given(seed=seeds, replicas=st.integers(2, 4))
def test_as_many_as_replicas_but_one_die_at_once(seed, replicas, vnodes):
    """The owner and the next processes die at the moment at which a put of theirs is acknowledged; twice."""
    traffic = Traffic(seed, 8, Settings(replicas=replicas, failures=replicas - 1, repair_s=RARE), vnodes)
    name = traffic.names[0]
    for _ in range(2):
        version = traffic.acknowledged[name]
        assert moment(traffic, lambda version=version: traffic.acknowledged[name] > version)
        holders = sorted(
            traffic.holders(name), key=lambda address: (address != traffic.owner(name).me.address, address)
        )
        assert len(holders) >= replicas
        for address in holders[: replicas - 1]:
            traffic.cluster.crash(address)
        traffic.until_calm()
        assert moment(traffic, traffic.copied, 30.0)

    traffic.settle()


@settings(max_examples=4)
@given(seed=seeds, vnodes=st.integers(2, 5), count=st.integers(2, 6))
def test_replicas_are_on_distinct_processes(seed, vnodes, count):
    """However many virtual nodes of one process follow each other, a record is held by as many processes."""
    traffic = Traffic(seed, count, vnodes=vnodes)

    for name in traffic.names:
        assert len(traffic.holders(name)) >= min(3, count), name

    traffic.settle()


def entry_of(cluster: Cluster, via: str, name: str) -> list[Entry]:
    client = cluster.client(f"reader {cluster.now}")
    return client.ask(client.ring([via], 20.0).get(name))


@settings(max_examples=5)
@given(seed=seeds, then=st.sampled_from(["crash", "join", "leave", "split", "return"]))
def test_what_was_deleted_does_not_come_back(seed, then):
    """Its owner dies, others join or leave, or a replica that was cut off all the time comes back with the old copy."""
    traffic = Traffic(seed, 6, names=12)
    cluster = traffic.cluster
    name = traffic.names[0]
    traffic.settle()
    owner, replica, another = traffic.following(traffic.owner(name), 3)
    if then in ("split", "return"):
        rest = [address for address in (*cluster.nodes, "deleter") if address != replica.me.address]
        cluster.network.split([replica.me.address], rest)
        assert cluster.scheduler.run_until(lambda: replica.me not in owner.state.successors, 20.0)
        assert traffic.held(replica, name) is not None
    via = next(address for address in cluster.nodes if address != replica.me.address)
    deleter = cluster.client("deleter")
    assert deleter.ask(deleter.ring([via], 20.0).delete(name, "e")).version == traffic.acknowledged[name] + 1
    if then == "crash":
        cluster.crash(owner.me.address)
    elif then == "join":
        for number in range(100, 104):
            cluster.start(address_of(number), [via])
    elif then == "leave":
        for member in (owner, another):
            cluster.start_leaving(member.me.address, 4.0)
    elif then == "return":
        cluster.network.mend()
        cluster.crash(owner.me.address)
    else:
        cluster.scheduler.run_for(10.0)
        cluster.network.mend()

    for _ in range(20):
        cluster.scheduler.run_for(0.5)
        through = next(
            address for address, node in cluster.nodes.items() if node.booted.done and address != replica.me.address
        )
        if not cluster.network.is_cut(through, replica.me.address):
            assert entry_of(cluster, through, name) == [], f"seed {seed} at {cluster.now}"
    traffic.until_calm(120.0)
    for address in cluster.nodes:
        assert entry_of(cluster, address, name) == [], f"seed {seed} through {address}"


@settings(max_examples=3)
@given(seed=seeds)
def test_no_lease_grows_by_being_copied(seed):
    """Through crashes, joins, leaves and repairs no member ever has more left of it than was put, but for the time that
    a copy travels; and when it is over, nobody shows the record.
    """
    lease_s, travel_s = 20.0, 0.5
    cluster = Cluster(seed, Settings(repair_s=0.5))
    cluster.start_many(5)
    assert cluster.converge(60.0) is not None
    client = cluster.client()
    names = [f"record {number}" for number in range(20)]
    ends_at = {}
    for name in names:
        client.ask(client.ring([address_of(0)]).put(name, "e", b"v", lease_s))
        ends_at[name] = cluster.now + lease_s
    rng = cluster.rng("changes")

    def none_has_grown() -> bool:
        for member in cluster.members():
            for name in names:
                entry = member.store.find(name, "e", cluster.now)
                if entry is not None and entry.lease_s > 0.0 and not entry.deleted:
                    assert cluster.now + entry.lease_s <= ends_at[name] + travel_s, f"seed {seed}: {member.me} {name}"
        return False

    for number in range(100, 106):
        cluster.start(address_of(number), [address_of(0)])
        cluster.scheduler.poll_until(none_has_grown, 1.0, 0.1)
        booted = [address for address, node in cluster.nodes.items() if node.booted.done and address != address_of(0)]
        if number % 2:
            cluster.crash(rng.choice(booted))
        else:
            cluster.start_leaving(rng.choice(booted), 4.0)
        cluster.scheduler.poll_until(none_has_grown, 1.0, 0.1)
    shown = [len(entry_of(cluster, address_of(0), name)) for name in names]
    cluster.scheduler.poll_until(none_has_grown, max(ends_at.values()) + travel_s - cluster.now, 0.1)

    assert shown == [1] * len(names)
    for address in cluster.nodes:
        for name in names:
            assert entry_of(cluster, address, name) == [], f"seed {seed} {name} through {address}"
