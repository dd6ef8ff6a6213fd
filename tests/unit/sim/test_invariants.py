"""The invariants find what they are there to find: each is shown a ring that is broken in one way."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chord.member import Member
from chord.messages import Pointer
from chord.settings import Settings
from sim import invariants
from sim.cluster import Cluster
from sim.ideal import start_ideal


@pytest.fixture
def members() -> list[Member]:
    """Seven in ring order, with lists of three."""
    cluster = Cluster(4, Settings(successors=3))
    start_ideal(cluster, 7, upkeep=False)
    return sorted(cluster.members(), key=lambda member: member.me.id)


def lists(member: Member, *successors: Pointer, whole: bool = False) -> None:
    member._state = replace(member.state, successors=successors, whole=whole)


def test_an_ideal_ring_keeps_every_invariant(members):
    """All members are principal, and nothing is broken."""
    assert invariants.broken(members) == []
    assert invariants.principals(members) == {member.me for member in members}


def test_a_list_out_of_order_is_found(members):
    """P2: entries in another order than the ring's."""
    lists(members[0], members[2].me, members[1].me, members[3].me)

    assert "not in ring order" in invariants.broken(members)[0]


def test_a_list_that_holds_its_owner_is_found(members):
    """P2: a member lists itself."""
    lists(members[0], members[1].me, members[2].me, members[0].me)

    assert "not in ring order" in invariants.broken(members)[0]


def test_a_list_that_is_too_long_is_found(members):
    """P1: more entries than the length asks for, though they span enough processes."""
    lists(members[0], *(member.me for member in members[1:6]))

    assert "lists 5 members where fewer do" in invariants.broken(members)[0]


def test_a_member_all_of_whose_successors_are_dead_is_found(members):
    """P3: nobody in its list runs any more, and it never knew all."""
    living = [members[0], *members[4:]]

    assert invariants.broken(living) == [f"{members[0].me} has no live successor"]


def test_a_member_that_knew_everybody_and_lost_all_is_alone(members):
    """In a small ring the last one is its own successor."""
    lists(members[0], members[1].me, members[2].me, whole=True)

    assert invariants.broken([members[0]]) == []


def test_two_rings_are_found(members):
    """P5: one half lists only itself, and so does the other."""
    for half in (members[:3], members[3:]):
        for position, member in enumerate(half):
            following = [one.me for one in half[position + 1 :] + half[:position]]
            lists(member, *following[:3], whole=len(following) <= 3)

    assert "2 rings instead of one" in invariants.broken(members)[0]


def test_a_member_of_the_base_that_is_skipped_is_found(members):
    """P4: a member that the ring rests on lives, and somebody's list passes over it."""
    principals = invariants.Principals()
    principals.rest_on(members)
    assert principals.lost(members) == []

    lists(members[0], members[2].me, members[3].me, members[4].me)

    assert f"{members[1].me} is skipped by {members[0].me}" in principals.lost(members)[0]


def test_whoever_leaves_or_is_gone_may_be_skipped(members):
    """P4 speaks of those that stay."""
    principals = invariants.Principals()
    principals.rest_on(members)
    lists(members[0], members[2].me, members[3].me, members[4].me)

    assert principals.lost([members[0], *members[2:]]) == []
    members[1].leaving = True
    assert principals.lost(members) == []


def test_a_whole_list_reaches_all_around(members):
    """Whoever lists everybody skips each one that it does not list, another incarnation too."""
    lists(members[0], members[1].me, whole=True)
    again = Pointer(members[1].me.id, members[1].me.address, members[1].me.incarnation + 1)

    assert invariants.skipped(members[0].state, members[6].me)
    assert invariants.skipped(members[0].state, again)
    assert not invariants.skipped(members[0].state, members[1].me)
