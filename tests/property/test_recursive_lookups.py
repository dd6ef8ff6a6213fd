"""Recursive lookups on simulated rings: as right as iterative ones, with as many hops, whatever is lost on the way."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chord.trace import LookupTrace
from sim import checks
from sim.cluster import Cluster
from sim.network import Link, constant, uniform
from tests.simulated import ring_of

COLUMN_B = {16: 1.37, 64: 2.12}
"""Mean hops with r = 2 log2 N entries in the successor list (table 1c of the reference simulation)."""


def walks(cluster: Cluster, count: int, recursive: bool = True):
    """Names looked up through nodes drawn by chance."""
    client, rng = cluster.client(f"client-{recursive}"), cluster.rng("names")
    return [
        client.locate(f"name-{rng.getrandbits(40)}", rng.choice(list(cluster.nodes)), recursive) for _ in range(count)
    ]


def from_afar(cluster: Cluster, count: int, recursive: bool = True):
    """Those of them that were not asked of the owner itself."""
    return [walk for walk in walks(cluster, count, recursive) if walk.path[0] != walk.owner]


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 3))
def test_the_owner_is_that_of_brute_force(seed, count, vnodes):
    """On an ideal ring of any size and with virtual nodes, in one attempt."""
    cluster = ring_of(count, seed, vnodes=vnodes)

    for walk in walks(cluster, 30):
        assert walk.owner == checks.right_owner(cluster.members(), walk.key)
        assert walk.timeouts == 0


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.floats(0.01, 0.05))
def test_the_owner_is_found_though_frames_are_lost(seed, loss):
    """What is lost on the way is asked for again: every lookup ends with an owner, and the right one."""
    cluster = ring_of(8, seed)
    cluster.network.default = Link(uniform(0.001, 0.020), loss=loss, duplication=loss)

    found = walks(cluster, 20)

    members = cluster.members()
    assert [walk.owner for walk in found] == [checks.right_owner(members, walk.key) for walk in found]


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.integers(1, 4))
def test_the_owner_is_found_right_after_crashes(seed, crashes):
    """Nobody has noticed yet that members are gone: those asked find the owner among the living."""
    cluster = ring_of(16, seed)
    for address in cluster.rng("crashes").sample(list(cluster.nodes), crashes):
        cluster.crash(address)

    for walk in walks(cluster, 20):
        assert walk.owner == checks.right_owner(cluster.members(), walk.key)


@pytest.mark.parametrize("count", COLUMN_B)
def test_hops_are_those_of_iterative_lookups(count):
    """Whoever passes a lookup on chooses as the asker would: the mean is that of table 1c, column B."""
    means = {True: [], False: []}
    for seed in range(4):
        cluster = ring_of(count, seed)
        cluster.scheduler.run_for(15.0)  # every finger has been refreshed
        for recursive, of_mode in means.items():
            of_mode.append(statistics.fmean(walk.hops for walk in from_afar(cluster, 300, recursive)))

    assert means[True] == means[False]
    assert statistics.fmean(means[True]) == pytest.approx(COLUMN_B[count], rel=0.12)


def test_a_lookup_lost_on_the_way_is_retried_and_succeeds():
    """The asker waits as long as such lookups took before, and then walks; the row tells the time-out."""
    cluster = ring_of(12, 3, link=Link(constant(0.01)))
    client = cluster.client()
    via = next(iter(cluster.nodes))
    first = client.locate("flights.JFK", via, recursive=True)
    assert first.owner is not None
    cluster.network.split([first.owner.address], ["client"], one_way=True)
    began = cluster.now

    outcome = client.process.start(client.ring([via], recursive=True).locate("flights.JFK"))
    cluster.scheduler.run_for(0.26)
    cluster.network.mend()
    cluster.scheduler.run_until(lambda: outcome.done, 10.0)

    assert outcome.value().owner == first.owner
    assert 0.25 < cluster.now - began < 0.5
    row = [each for each in cluster.rows if isinstance(each, LookupTrace)][-1]
    assert (row.mode, row.timeouts, row.hop_list[0].timed_out) == ("recursive", 1, True)


def test_a_recursive_lookup_takes_fewer_messages_in_a_row():
    """On links of 10 ms the mean is (hops + 3) of them, against 2 (hops + 2) iteratively."""
    cluster = ring_of(16, 5, link=Link(constant(0.01)))
    cluster.scheduler.run_for(15.0)

    for walk in from_afar(cluster, 50):
        assert walk.ended_at - walk.started_at == pytest.approx(0.01 * (walk.hops + 3), abs=1e-6)
    for walk in from_afar(cluster, 50, recursive=False):
        assert walk.ended_at - walk.started_at == pytest.approx(0.02 * (walk.hops + 2), abs=1e-6)
