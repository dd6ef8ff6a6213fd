"""Ways that plain sorting finds in a snapshot are those of the production code on the same ring."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from chord.lookup import Walk, find_predecessor
from chord.settings import Settings
from experiments.overlay import paths
from experiments.overlay.routing import Router, entered_at
from experiments.overlay.simulated import taken_of
from experiments.ranks import mean
from sim.at_once import Asker, AtOnce
from sim.cluster import Cluster
from sim.ideal import start_ideal


@given(
    nodes=st.integers(1, 24),
    vnodes=st.integers(1, 3),
    successors=st.integers(1, 9),
    seed=st.integers(0, 99),
    keys=st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=8),
)
@settings(max_examples=60)
def test_a_lookup_takes_the_path_that_the_tables_say(nodes, vnodes, successors, seed, keys):
    """Every member on it, and the owner, whichever process is asked first, keys of members themselves included."""
    cluster = Cluster(seed, Settings(cluster=f"ring-{seed}", successors=successors), vnodes=vnodes)
    hosts = [node.host for node in start_ideal(cluster, nodes, upkeep=False)]
    snapshot = taken_of(cluster)
    router, ring = Router(snapshot), AtOnce(hosts)
    for number, key in enumerate([*keys, router.ids[0], router.ids[-1]]):
        address = hosts[number % nodes].kernel.address
        start = entered_at(snapshot, router, address, key)
        member = next(one for host in hosts for one in host.members if one.me.id == router.ids[start])
        walk = Walk(key)

        hop = ring.finish(find_predecessor(Asker(), cluster.settings.space, [member.me], walk))

        path = router.path(start, key)
        assert [pointer.id for pointer in walk.path] == [router.ids[at] for at in path]
        assert hop.candidates[0].id == router.ids[router.named_owner(path[-1], key)]


@given(nodes=st.integers(1, 30), successors=st.integers(1, 9), seed=st.integers(0, 99))
@settings(max_examples=30)
def test_hops_of_all_members_are_those_of_each_and_never_fewer_than_the_shortest(nodes, successors, seed):
    """The tree of ways to a key has each way in it; shares add up to 1."""
    cluster = Cluster(seed, Settings(cluster=f"ring-{seed}", successors=successors))
    start_ideal(cluster, nodes, upkeep=False)
    router = Router(taken_of(cluster))
    key = router.ids[seed % nodes]

    hops, through = router.tree_to(key)
    ways = [router.path(start, key) for start in range(nodes)]

    assert hops == [len(way) - 1 for way in ways]
    assert through == [sum(at in way for way in ways) for at in range(nodes)]
    counted = paths.count(router)
    assert abs(sum(counted.greedy.values()) - 1) < 1e-9
    assert mean(counted.shortest) <= mean(counted.greedy) + 1e-9
