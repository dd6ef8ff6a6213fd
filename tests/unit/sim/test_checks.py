"""The checks find what they are there to find: each is shown a ring that is broken in one way."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chord.ring_state import RingState
from chord.settings import Settings
from sim import checks
from sim.cluster import Cluster
from tests.simulated import in_order


@pytest.fixture
def cluster() -> Cluster:
    made = Cluster(seed=4, settings=Settings(successors=3))
    made.start_many(7)
    assert made.converge(30.0) is not None
    assert checks.ideal_ring(made.members()) == checks.one_ordered_ring(made.members()) == []
    return made


def put(member, **changes: object) -> None:
    state: RingState = member.state
    member._state = replace(state, **changes)  # type: ignore[arg-type]  # keywords by name


def test_a_missing_predecessor_is_found(cluster):
    """A member without its predecessor is not ideal."""
    put(in_order(cluster)[2], predecessor=None)

    assert "has predecessor None" in checks.ideal_ring(cluster.members())[0]


def test_a_short_list_is_found(cluster):
    """A list that is right as far as it goes, but too short, is not ideal."""
    member = in_order(cluster)[2]
    put(member, successors=member.state.successors[:2])

    assert "lists" in checks.ideal_ring(cluster.members())[0]


def test_a_list_that_skips_a_member_is_found(cluster):
    """A list that passes over a live member is not ideal."""
    member = in_order(cluster)[2]
    first, second, third = member.state.successors
    put(member, successors=(first, third, in_order(cluster)[6].me), predecessor=member.state.predecessor)

    assert second not in member.state.successors
    assert "lists" in checks.ideal_ring(cluster.members())[0]


def test_a_false_whole_is_found(cluster):
    """A member that takes a cut list for everybody is not ideal."""
    put(in_order(cluster)[2], whole=True)

    assert "says whole=True of 3 of 6 others" in checks.ideal_ring(cluster.members())[0]


def test_a_member_that_has_not_joined_is_found(cluster):
    """A member on its way into the ring is not ideal."""
    in_order(cluster)[2].active = False

    assert any("has not joined" in fault for fault in checks.ideal_ring(cluster.members()))


def test_two_rings_are_found(cluster):
    """Members that point at each other in two cycles are two rings, and each is named."""
    members = in_order(cluster)
    for ring in (members[:3], members[3:]):
        for index, member in enumerate(ring):
            put(member, successors=(ring[(index + 1) % len(ring)].me,))

    assert checks.one_ordered_ring(cluster.members())[0].startswith("2 rings instead of one")


def test_a_ring_that_goes_round_twice_is_found(cluster):
    """One cycle that passes key 0 twice is no ordered ring (the loopy state of Liben-Nowell et al. 2002)."""
    members = in_order(cluster)
    loop = members[::2] + members[1::2]
    for index, member in enumerate(loop):
        put(member, successors=(loop[(index + 1) % len(loop)].me,))

    assert checks.one_ordered_ring(cluster.members())[0].startswith("the ring passes key 0 2 times")


def test_an_appendage_is_no_fault_and_a_dead_end_is(cluster):
    """A member that leads onto the ring is connected; one without a live successor is not."""
    members = in_order(cluster)
    put(members[0], successors=(members[2].me,))
    assert checks.one_ordered_ring(cluster.members()) == []

    put(members[1], successors=(), whole=False)
    assert checks.one_ordered_ring(cluster.members()) == [f"{members[1].me} has no live successor"]


def test_the_right_owner_is_the_first_at_or_after_the_key(cluster):
    """The owner of a member's own identifier is that member; past the highest, the lowest."""
    members = in_order(cluster)

    assert checks.right_owner(members, members[3].me.id) == members[3].me
    assert checks.right_owner(members, members[3].me.id + 1) == members[4].me
    assert checks.right_owner(members, members[-1].me.id + 1) == members[0].me
