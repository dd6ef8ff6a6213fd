"""A ring that is ideal from the start is what joining would have led to, and stays so."""

from __future__ import annotations

import pytest

from chord.identifiers import IdentifierSpace
from chord.settings import Settings
from sim.cluster import Cluster, address_of
from sim.ideal import start_ideal


@pytest.mark.parametrize("count", [1, 2, 3, 8, 9, 10, 40])
def test_it_is_ideal_and_stays_so(count):
    """From one node up, across the size at which a list no longer holds everybody, no member ever changes its view."""
    cluster = Cluster(seed=1)
    start_ideal(cluster, count)
    assert cluster.has_converged()
    before = [member.state for member in cluster.members()]

    cluster.scheduler.run_for(10.0)

    assert [member.state for member in cluster.members()] == before
    assert not cluster.refused


def test_it_is_the_ring_that_the_same_processes_make_by_joining():
    """States and fingers are those of a ring of the same addresses that was joined node by node."""
    joined, ideal = Cluster(seed=1), Cluster(seed=1)
    joined.start_many(20)
    assert joined.converge(60.0) is not None
    joined.scheduler.run_for(20.0)

    start_ideal(ideal, 20)

    for one, other in zip(joined.members(), ideal.members(), strict=True):
        assert (one.state.predecessor, one.state.successors, one.state.whole) == (
            other.state.predecessor,
            other.state.successors,
            other.state.whole,
        )
        assert list(one.fingers) == list(other.fingers)
        assert (one.active, one.adopted, one.reach.complete) == (other.active, other.adopted, other.reach.complete)


def test_virtual_nodes_are_members_of_it():
    """Every list spans enough other processes."""
    cluster = Cluster(seed=1, settings=Settings(successors=3, space=IdentifierSpace(20)), vnodes=4)
    start_ideal(cluster, 5)

    assert len(cluster.members()) == 20
    assert cluster.faults() == []


def test_it_takes_a_joiner_in_and_closes_behind_the_dead():
    """Its members do all that members do."""
    cluster = Cluster(seed=1)
    start_ideal(cluster, 12)
    cluster.start(address_of(12), [address_of(3)])
    cluster.scheduler.run_for(2.0)
    cluster.crash(address_of(5))

    assert cluster.converge(20.0) is not None
    assert len(cluster.nodes) == 12


def test_nothing_goes_on_at_members_without_upkeep():
    """Then only what is asked is sent."""
    cluster = Cluster(seed=1)
    start_ideal(cluster, 5, upkeep=False)

    cluster.scheduler.run_for(30.0)

    assert cluster.network.sent == 0
