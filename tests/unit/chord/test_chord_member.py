"""One member's plain answers: what it owns, whom it sends on, when it is busy, and what it tells a joiner."""

from __future__ import annotations

import random

import pytest

from chord import ring_requests, wire
from chord.errors import Busy, LocalProtocolError, NotMember, NotOwner, RemoteProtocolError
from chord.host import Host
from chord.identifiers import IdentifierSpace
from chord.kernel import Kernel
from chord.limits import MAX_VNODES, PROTOCOL_VERSION
from chord.member import Member
from chord.messages import (
    Changed,
    ConfirmOwner,
    Entry,
    GetNeighbours,
    Hop,
    Neighbours,
    NextHop,
    Noted,
    Notify,
    Owned,
    Ping,
    Pointer,
    Pong,
    Reply,
    Request,
)
from chord.ring_state import RingState
from chord.settings import Settings
from tests.unit.chord.worlds import SETTINGS, SPACE, World, host, pointer

ME = pointer(500)


def member(predecessor: int | None = 400, successors: tuple[int, ...] = (600, 700, 100), whole: bool = True) -> Member:
    """An active member 500 in the middle of things."""
    kernel = Kernel("ringcast", ME.address, random.Random(1))
    kernel.now = 100.0
    made = Member(kernel, SETTINGS, ME, lambda _address: None)
    ring_requests.install(made)
    made.active = True
    made.state = RingState(
        ME,
        SPACE,
        8,
        3,
        tuple(pointer(each) for each in successors),
        whole,
        None if predecessor is None else pointer(predecessor),
    )
    made.heard_at = 100.0
    return made


def ask(one: Member, body):
    return one.serve(Request(1, "ringcast", 1, body))


# Ownership ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("key", "owns"), [(400, False), (401, True), (500, True), (501, False), (0, False)])
def test_a_member_owns_what_lies_after_its_predecessor(key, owns):
    """(predecessor, me], and not the predecessor's own key."""
    assert member().owns(key) is owns


def test_a_member_that_is_alone_owns_everything():
    """And one without a predecessor that has successors owns nothing for certain."""
    assert all(member(None, ()).owns(key) for key in (0, 499, 500, 501))
    assert not any(member(None).owns(key) for key in (0, 499, 500, 501))
    assert not member(None, (), whole=False).owns(500)


def test_a_member_answers_for_a_silent_predecessor():
    """For another's key only when its predecessor has not been heard for longer than its time-out, or there is none."""
    one = member()
    assert not one.answers_for(300)

    one.kernel.now = 100.0 + SETTINGS.silence_s + 0.01
    assert one.answers_for(300)
    assert member(None).answers_for(300)


def test_another_owner_is_named():
    """NotOwner carries the predecessor as a hint, and says all of it."""
    with pytest.raises(
        NotOwner, match=r"key 0+12c is not owned by 0+1f4 at n500:1; its predecessor 0+190 at"
    ) as refusal:
        member().require_owner(300)

    assert refusal.value.hint == pointer(400)


def test_the_owner_confirms():
    """As itself, and also when it stands in for a predecessor that is silent."""
    one = member()
    assert ask(one, ConfirmOwner(450)) == Owned(ME)
    with pytest.raises(NotOwner):
        ask(one, ConfirmOwner(300))

    one.kernel.now += 10.0
    assert ask(one, ConfirmOwner(300)) == Owned(ME)


def test_the_arc_is_the_whole_ring_without_a_predecessor():
    """(me, me] means everything."""
    assert member().arc() == (400, 500)
    assert member(None).arc() == (500, 500)


# Lookups -----------------------------------------------------------------------------------------------------------


def test_the_predecessor_of_a_key_names_its_owners():
    """The owner and its successors, four at most."""
    one = member(successors=(600, 700, 800, 900, 100))

    assert ask(one, NextHop(550)) == Hop(ME, True, tuple(pointer(each) for each in (600, 700, 800, 900)))
    assert ask(one, NextHop(600)).final


def test_the_owner_names_itself():
    """A member that owns the key is the end of the lookup."""
    assert ask(member(), NextHop(450)) == Hop(ME, True, (ME, pointer(600), pointer(700), pointer(100)))
    assert ask(member(None, ()), NextHop(7)) == Hop(ME, True, (ME,))


def test_others_are_sent_on_to_whoever_precedes_the_key():
    """Three candidates before the key, from fingers and list, the closest first."""
    one = member(successors=(600, 700), whole=False)
    one.fill_finger(9, pointer(50))

    assert ask(one, NextHop(200)) == Hop(ME, False, (pointer(50), pointer(700), pointer(600)))
    assert ask(one, NextHop(650)) == Hop(ME, False, (pointer(600),))


def test_a_dropped_member_is_named_no_more():
    """Neither from the list nor from the fingers."""
    one = member(successors=(600, 700), whole=False)
    one.fill_finger(9, pointer(50))
    ask(one, NextHop(200))

    one.drop(pointer(50))
    one.drop(pointer(700))

    assert ask(one, NextHop(200)) == Hop(ME, False, (pointer(600),))


# Busy --------------------------------------------------------------------------------------------------------------


def test_a_member_with_a_query_of_its_own_is_busy_for_neighbours_only():
    """Zave: its state is undefined meanwhile. Looks from outside, pings, lookups and notices are answered at once."""
    one = member()
    one.pending = 1

    with pytest.raises(Busy, match="waits for an answer of its own"):
        ask(one, GetNeighbours())
    assert isinstance(ask(one, GetNeighbours(observe=True)), Neighbours)
    assert ask(one, Ping()) == Pong()
    assert isinstance(ask(one, NextHop(7)), Hop)
    assert isinstance(ask(one, ConfirmOwner(450)), Owned)
    assert ask(one, Notify(pointer(450))) == Noted()

    one.pending = 0
    assert ask(one, GetNeighbours()).member == ME


def test_a_member_that_is_joining_answers_pings_only():
    """It has no view to answer with."""
    one = member()
    one.active = False

    assert ask(one, Ping()) == Pong()
    for body in (NextHop(7), ConfirmOwner(7), GetNeighbours(observe=True), Notify(pointer(450))):
        with pytest.raises(Busy, match="is still joining"):
            ask(one, body)


def test_what_is_not_for_a_member_is_refused():
    """A cast meant for clients is an error of its sender."""
    with pytest.raises(RemoteProtocolError, match="a ring member takes no Changed"):
        ask(member(), Changed(Entry("k", "e", 1, b"", 1.0)))


def test_its_neighbours_as_it_sees_them():
    """Predecessor, list, and whether that is everybody."""
    one = member()

    assert ask(one, GetNeighbours()) == Neighbours(
        ME, pointer(400), (pointer(600), pointer(700), pointer(100)), whole=True
    )


# Notices -----------------------------------------------------------------------------------------------------------


def test_a_notice_from_the_predecessor_is_heard():
    """It renews what the member knows of its predecessor, and tells a joiner that it has been adopted."""
    one = member()
    one.kernel.now = 150.0

    ask(one, Notify(pointer(400)))

    assert one.heard_at == 150.0
    assert one.adopted


def test_a_new_predecessor_is_heard_from_now_on():
    """Whoever comes between is adopted at once; a later incarnation replaces the earlier."""
    one = member()
    one.kernel.now = 150.0

    ask(one, Notify(pointer(450)))
    assert (one.state.predecessor, one.heard_at) == (pointer(450), 150.0)
    ask(one, Notify(pointer(450, incarnation=2)))
    assert one.state.predecessor == pointer(450, incarnation=2)


def test_a_notice_from_itself_changes_nothing():
    """A member never becomes its own predecessor."""
    one = member(None, ())

    ask(one, Notify(ME))

    assert one.state.predecessor is None


def test_a_farther_notifier_has_the_predecessor_pinged():
    """The member does not decide by itself."""
    one = member()
    asked = []
    one.start_rectifying = lambda: asked.append(one.notifier)

    ask(one, Notify(pointer(300)))

    assert asked == [pointer(300)]
    assert one.state.predecessor == pointer(400)


def test_a_query_of_the_predecessor_is_a_notice():
    """It is adopted, heard, and finds itself in the answer; a busy member hears it too."""
    one = member()
    one.kernel.now = 150.0

    answer = ask(one, GetNeighbours(sender=pointer(450)))

    assert (answer.predecessor, one.state.predecessor) == (pointer(450), pointer(450))
    assert one.adopted and one.heard_at == 150.0

    one.pending = 1
    with pytest.raises(Busy):
        ask(one, GetNeighbours(sender=pointer(460)))
    assert one.state.predecessor == pointer(460)


def test_the_query_that_tells_a_member_it_is_not_alone_is_answered():
    """It begins a query of its own because of that, and is busy only from then on."""
    one = member(None, ())

    def ask_in_turn():
        one.pending = 1

    one.start_stabilizing = ask_in_turn

    assert ask(one, GetNeighbours(sender=pointer(450))) == Neighbours(ME, pointer(450), (), whole=True)
    with pytest.raises(Busy):
        ask(one, GetNeighbours(sender=pointer(450)))


def test_a_query_of_a_farther_member_has_nobody_pinged():
    """It sees the nearer one in the answer, and notifies if it cannot reach that one."""
    one = member()
    asked = []
    one.start_rectifying = lambda: asked.append(one.notifier)

    one.kernel.now = 150.0

    answer = ask(one, GetNeighbours(sender=pointer(300)))

    assert answer.predecessor == one.state.predecessor == pointer(400)
    assert not asked
    assert one.heard_at < one.kernel.now


def test_a_query_tells_whether_its_sender_has_its_records():
    """The arc is yielded to a complete predecessor, and not before."""
    one = member()
    one.reach.low = 100
    yielded = []
    one.start_yielding = lambda low, predecessor: yielded.append((low, predecessor))

    ask(one, GetNeighbours(sender=pointer(450), complete=False))
    assert not yielded
    ask(one, GetNeighbours(sender=pointer(450)))
    assert yielded == [(100, pointer(450))]


def test_an_incarnation_starts_with_nothing_but_its_records():
    """`become`: pointers go, records stay."""
    one = member()
    again = pointer(500, incarnation=2)

    one.become(again)

    assert one.me == again
    assert not one.active
    assert one.state == RingState(again, SPACE, SETTINGS.successors, SETTINGS.failures + 1)


def test_an_incarnation_knows_nothing_of_the_last_ones_predecessor():
    """Neither when it was heard, nor that it has its records: who gathers an arc beside it learns that it is gone."""
    one = member()
    ask(one, GetNeighbours(sender=pointer(450)))
    ask(one, Notify(pointer(420)))
    one.kernel.now = 150.0
    moves = one.reach.moves

    one.become(pointer(500, incarnation=2))

    assert not one.adopted and not one.reach.predecessor_complete
    assert one.notifier is None
    assert one.heard_at == 150.0
    assert one.reach.moves > moves
    assert one.reach.low == one.me.id


# Processes ---------------------------------------------------------------------------------------------------------


def test_a_request_to_a_former_incarnation_is_refused():
    """NotMember: that one is dead for certain."""
    world = World()
    made = host(world, 500)

    with pytest.raises(NotMember, match="hosts no member 00000000000001f4 of incarnation 7"):
        made.serve(Request(1, "ringcast", 1, Ping(), (500, 7)))
    with pytest.raises(NotMember, match="hosts no member 00000000000001f5"):
        made.serve(Request(1, "ringcast", 1, Ping(), (501, 7)))
    assert made.serve(Request(1, "ringcast", 1, Ping())) == Pong()


def test_a_lookup_enters_by_the_fittest_virtual_node():
    """Of a process with several members, the one closest before the key answers."""
    made = Host(SETTINGS, "n10:1", 4, random.Random(1))
    for each in made.members:
        each.active = True
        each.state = RingState(each.me, SPACE, 8, 3, (pointer(900),), False, pointer(5))

    hop = made.serve(Request(1, "ringcast", 1, NextHop(700)))

    assert [each.me.id for each in made.members] == [10, 11, 12, 13]
    assert hop.member.id == 13


def test_virtual_nodes_that_collide_are_one():
    """Two virtual nodes of one process with one identifier: one is as good."""
    crowded = Host(Settings(space=IdentifierSpace(2)), "n0:1", MAX_VNODES, random.Random(1))

    assert sorted(each.me.id for each in crowded.members) == [0, 1, 2, 3]
    assert len(Host(SETTINGS, "n0:1", MAX_VNODES, random.Random(1)).members) == MAX_VNODES


@pytest.mark.parametrize("vnodes", [0, MAX_VNODES + 1])
def test_virtual_nodes_out_of_range_are_refused(vnodes):
    """The error says what is allowed."""
    with pytest.raises(LocalProtocolError, match=f"1 to {MAX_VNODES} virtual nodes, not {vnodes}"):
        Host(SETTINGS, "n0:1", vnodes, random.Random(1))


def test_the_longest_list_fits_the_wire():
    """Three processes with as many virtual nodes as are allowed: each list holds all others, and can be sent."""
    space = IdentifierSpace()
    pointers = [
        Pointer(space.member("c", f"n{process}:1", index), f"n{process}:1", 1)
        for process in range(3)
        for index in range(MAX_VNODES)
    ]
    me, *others = sorted(pointers, key=lambda one: one.id)
    state = RingState(me, space, 8, 3).with_list(others, closes=True)
    answer = Neighbours(me, others[-1], state.successors, state.whole)

    assert len(state.successors) == len(others)
    assert wire.decode_reply(wire.encode(Reply(PROTOCOL_VERSION, 1, answer))).body == answer


@pytest.mark.parametrize(
    ("knob", "value"),
    [("successors", 0), ("successors", 129), ("replicas", 0), ("replicas", 17), ("stabilize_s", 0.0)],
)
def test_a_knob_out_of_range_is_refused(knob, value):
    """Settings say what is wrong with them."""
    with pytest.raises(LocalProtocolError, match=str(value)):
        Settings(**{knob: value})


def test_who_has_been_joined_has_not_all_there_is_any_more():
    """It still lists nobody: what a joiner has taken over stays taken over when the next one comes."""
    one = member(predecessor=None, successors=())
    assert one.state.alone
    one.serve(Request(1, "ringcast", 1, Notify(pointer(300), complete=True)))
    assert not one.reach.covers(250)

    one.serve(Request(1, "ringcast", 1, Notify(pointer(400), complete=False)))

    assert not one.reach.covers(250)
    assert one.reach.taker(250) == pointer(300)
