"""What a process does with its members for as long as it lives: rejoining, moving, one thing at a time."""

from __future__ import annotations

from chord import maintenance
from chord.effects import sleep
from chord.messages import GetNeighbours, Hop, Neighbours, NextHop, Notify, Ping, Pong, Request
from chord.ring_state import RingState
from chord.trace import EventTrace
from tests.unit.chord.worlds import SPACE, boot, host, kept, pointer, scripted


def events(rows: list[object], kind: str) -> list[str]:
    return [row.detail for row in rows if isinstance(row, EventTrace) and row.kind == kind]


def taken_by_another(request: Request):
    """A ring in which the identifier 100 belongs to another process."""
    me, holder = pointer(50), pointer(100, "other:1")
    scripts = {
        NextHop: Hop(me, True, (holder,)),
        GetNeighbours: Neighbours(me, holder, (holder,), True),
        Ping: Pong(),
    }
    return scripts.get(type(request.body))


def test_a_member_whose_identifier_is_taken_in_the_other_ring_stays_as_it_is(world):
    """It does not end as a member of no ring: it is alone, says why, and goes on stabilizing and healing."""
    (one,) = boot(world, [100])
    rows = kept(one)
    for address in ("n50:1", "other:1"):
        scripted(world, address, taken_by_another)
    member = one.members[0]

    world.finish(one.kernel, one.rejoin(member, [pointer(0, "n50:1", 0)]))

    assert member.active and member.reach.complete and member.state.alone
    (why,) = events(rows, "rejoin failed")
    assert "is in use by" in why


def test_a_member_that_is_rejoining_is_not_sent_off_again(world):
    """A split seen while a member is on its way already moves it once."""
    hosts = boot(world, [100])
    one, member = hosts[0], hosts[0].members[0]
    rows = kept(one)
    contacts = [pointer(0, "nobody:1", 0)]

    first = world.start(one.kernel, one.rejoin(member, contacts))
    incarnation = member.me.incarnation
    world.finish(one.kernel, one.rejoin(member, contacts))
    world.finish(one.kernel, one.healing.move(member, member.me, contacts))

    assert member.me.incarnation == incarnation
    assert world.run(lambda: bool(first), 60.0)
    assert len(events(rows, "rejoining")) == 1


def test_a_member_that_cannot_tell_which_ring_it_is_in_stays(world):
    """The lookup of the first member fails: nobody moves before the next probe has decided."""
    one = host(world, 100)
    member = one.members[0]
    member.active = True
    member.state = RingState(member.me, SPACE, 8, 3, (pointer(700),), False, pointer(50))
    rows = kept(one)
    sibling = host(world, 900).members[0]

    world.finish(one.kernel, one.healing.move(sibling, member.me, [pointer(0, "n500:1", 0)]))

    assert events(rows, "rejoining") == []


def test_a_leaving_member_is_not_sent_off(world):
    """It goes; where its records went is known, and no new incarnation comes back."""
    one = boot(world, [100])[0]
    member = one.members[0]
    member.leaving = True

    world.finish(one.kernel, one.rejoin(member, [pointer(0, "nobody:1", 0)]))

    assert member.active


def test_a_member_rectifies_one_thing_at_a_time(world):
    """A notice that comes while a silent predecessor is pinged is taken by that rectification; no second one begins."""
    hosts = boot(world, [100, 500, 700])
    one, member = hosts[2], hosts[2].members[0]
    world.crash("n500:1")
    world.sent.clear()
    watching = world.start(one.kernel, maintenance.rectify(member))

    member.serve(Request(1, "ringcast", 1, Notify(pointer(400))))
    assert world.run(lambda: bool(watching), 10.0)
    pings = [
        message
        for sender, receiver, message in world.sent
        if (sender, receiver) == ("n700:1", "n500:1") and isinstance(message.body, Ping)
    ]

    assert len(pings) == 2  # one, and once more with twice the time-out
    assert member.state.predecessor == pointer(400)
    assert not member.rectifying


def test_what_a_member_does_from_time_to_time_goes_on_after_a_failed_rejoin(world):
    """The loops of a member that was isolated and could not rejoin are still there."""
    one = boot(world, [100])[0]
    member = one.members[0]
    for address in ("n50:1", "other:1"):
        scripted(world, address, taken_by_another)
    one._note_lost(pointer(0, "n50:1", 0))
    member.state = member.state.with_list((), closes=False)
    assert member.state.isolated
    assert world.run(lambda: member.state.alone, 30.0)

    joiner = host(world, 300)
    world.finish(joiner.kernel, joiner.boot(["n100:1"], 30.0))
    world.finish(joiner.kernel, sleep(5.0))

    assert member.state.successors == (joiner.members[0].me,)
