"""Finger tables and the choice of the next hop, against brute force over all members."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from chord.fingers import FingerTable, Routes
from chord.identifiers import IdentifierSpace
from chord.kernel import Kernel
from chord.member import Member
from chord.messages import Hop, NextHop, Pointer
from chord.ring_state import RingState
from chord.settings import Settings
from tests.strategies import following, pointer, rings


def owner(ring: list[Pointer], key: int) -> Pointer:
    return next((member for member in ring if member.id >= key), ring[0])


def refresh(table: FingerTable, ring: list[Pointer]) -> int:
    """Carry a round out as fix_finger does; how many lookups it took."""
    lookups = 0
    while (due := table.next_start()) is not None:
        index, start = due
        assert table.fill(index, owner(ring, start)) >= 1
        lookups += 1
    return lookups


def wanted(space: IdentifierSpace, ring: list[Pointer], me: Pointer) -> list[Pointer]:
    owners = [owner(ring, space.finger_start(me.id, index)) for index in range(space.bits)]
    return list(dict.fromkeys(one for one in owners if one != me))


@given(rings(), st.data())
def test_a_round_fills_every_finger_with_its_owner(drawn, data):
    """Finger i is the owner of identifier + 2**i; one lookup fills all that it covers, so one an owner is enough."""
    space, ring = drawn
    me = data.draw(st.sampled_from(ring))
    table = FingerTable(me, space)

    lookups = refresh(table, ring)

    assert list(table) == wanted(space, ring, me)
    assert lookups <= len(list(table)) + 1


@given(rings(), rings(), st.data())
def test_a_new_round_forgets_an_old_ring(drawn, other, data):
    """After another round the table is that of the ring as it is now, whoever came and went."""
    space, ring = drawn
    me = data.draw(st.sampled_from(ring))
    before = [pointer(one.id % space.size) for one in other[1]]
    table = FingerTable(me, space)
    refresh(table, sorted({one.id: one for one in (*before, me)}.values(), key=lambda one: one.id))

    table.new_round()
    refresh(table, ring)

    assert list(table) == wanted(space, ring, me)


@given(rings(), st.data())
def test_a_dropped_member_is_in_no_finger_and_due_again(drawn, data):
    """Dropping takes a member out of every finger, and those are looked up again in the same round."""
    space, ring = drawn
    me, dead = data.draw(st.sampled_from(ring)), data.draw(st.sampled_from(ring))
    table = FingerTable(me, space)
    refresh(table, ring)
    held = dead in list(table)

    assert table.drop(dead) == held

    assert dead not in list(table)
    assert (table.next_start() is not None) == held


@given(rings(), st.data())
def test_the_next_hop_is_the_closest_that_precedes_the_key(drawn, data):
    """Candidates lie strictly between member and key, the closest first; to its own identifier it is a whole turn."""
    space, ring = drawn
    me = data.draw(st.sampled_from(ring))
    known = data.draw(st.lists(st.sampled_from(ring), max_size=12))
    key = data.draw(st.integers(0, space.size - 1))
    count = data.draw(st.integers(1, 4))

    found = Routes(me, space, known).preceding(key, count)

    reach = space.distance(me.id, key) or space.size
    before = [one for one in following(ring, me) if one in known and space.distance(me.id, one.id) < reach]
    assert list(found) == before[::-1][:count]


class Knowing:
    """What a member knows, given to it bit by bit."""

    def __init__(self, space: IdentifierSpace, me: Pointer) -> None:
        self.space = space
        self.me = me
        self.state = RingState(me, space, 8, 1)
        self.fingers: list[tuple[int, Pointer]] = []
        self.member = self.anew()

    def anew(self) -> Member:
        """Another member that is told all of it, and has been asked nothing."""
        made = Member(Kernel("ringcast", self.me.address, random.Random(1)), Settings(space=self.space), self.me, print)
        for index, owner in self.fingers:
            made.fill_finger(index, owner)
        made.state = self.state
        return made

    def learn(self, ring: list[Pointer], data: st.DataObject) -> None:
        """One thing more, or one less."""
        if data.draw(st.booleans()):
            self.fingers.append((data.draw(st.integers(0, self.space.bits - 1)), data.draw(st.sampled_from(ring))))
            self.member.fill_finger(*self.fingers[-1])
            return
        listed = tuple(one for one in following(ring, self.me) if data.draw(st.booleans()))
        predecessor = data.draw(st.none() | st.sampled_from(ring))
        self.state = RingState(self.me, self.space, 8, 1, listed, data.draw(st.booleans()), predecessor)
        self.member.state = self.state

    def answers(self, member: Member) -> list[Hop]:
        return [member.next_hop(NextHop(key)) for key in range(self.space.size)]


@given(rings(), st.data())
def test_a_next_hop_is_kept_as_long_as_it_holds(drawn, data):
    """Whatever it was asked before and learned since, a member answers as one that knows the same and is asked once."""
    space, ring = drawn
    knowing = Knowing(space, data.draw(st.sampled_from(ring)))

    for _ in range(data.draw(st.integers(1, 4))):
        knowing.learn(ring, data)
        once = [knowing.anew().next_hop(NextHop(key)) for key in range(space.size)]

        assert knowing.answers(knowing.member) == once
        assert knowing.answers(knowing.member) == once
