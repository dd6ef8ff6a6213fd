"""To whom an arc is given: a joiner, unless somebody that it has yet to hear of has some of it already."""

from __future__ import annotations

from itertools import pairwise

import pytest

from chord import handover
from chord.errors import Busy, WrongCluster
from chord.host import Host
from chord.messages import (
    FetchArc,
    Get,
    GetNeighbours,
    Leave,
    Neighbours,
    Notify,
    Nudge,
    Page,
    Ping,
    Pointer,
    Pong,
    Request,
)
from chord.reach import SEASONED_S
from tests.unit.chord.stored import fetches_arc, put
from tests.unit.chord.worlds import World, boot, kept, pointer, scripted

UNHEARD = r"gave what is stored up to .* to that one, and asks if .* knows of it"


def tell(one: Host, body: Notify | Leave) -> None:
    """News from a neighbour."""
    one.members[0].serve(Request(1, "ringcast", 1, body))


def ask(world: World, one: Host, low: int, high: int) -> Page:
    """What it answers to one that takes over, once it has asked around if it has to."""
    member = one.members[0]
    request = Request(1, "ringcast", 1, FetchArc(low, high, takeover=True))
    try:
        answer = one.members[0].serve(request)
    except Busy:
        assert world.run(lambda: not member.asking_around, 30.0)
        answer = member.serve(request)
    return world.finish(one.kernel, answer) if hasattr(answer, "send") else answer


def forgotten(world: World, hosts: list[Host], gone: int) -> None:
    """Nobody lists it any more."""
    members = [each.members[0] for each in hosts if each.members[0].me.id != gone]
    assert world.run(lambda: not any(listed.id == gone for one in members for listed in one.state.successors), 30.0)


def values(page: Page) -> list[bytes]:
    """What is on it."""
    return [entry.value for entry in page.entries]


def at(
    world: World, identifier: int, before: int | None, lacks_after: int | None = None, after: Pointer | None = None
) -> list[Request]:
    """A member there tells of its predecessor, and whether it lacks records."""

    def answer(request: Request):
        match request.body:
            case Ping():
                return Pong()
            case FetchArc():
                return Page((), more=False)
        predecessor = None if before is None else pointer(before)
        return Neighbours(pointer(identifier), predecessor, (after or pointer(500),), False, lacks_after)

    return scripted(world, f"n{identifier}:1", answer)


def given(world: World, *takers: int) -> Host:
    """The member at 800, of which each of these took over as its predecessor."""
    hosts = boot(world, [100, 800])
    put(world, hosts, "k200", b"v")
    for before, taker in pairwise((100, *takers)):
        tell(hosts[1], Notify(pointer(taker), complete=False))
        ask(world, hosts[1], before, taker)
    tell(hosts[1], Notify(pointer(500), complete=False))
    return hosts[1]


@pytest.mark.parametrize("before_joiner", [None, 100, 200])
def test_an_arc_that_was_given_away_is_not_given_once_more(world, before_joiner):
    """To one that has joined behind its taker, and takes what that one has for its own, for it has not heard of it."""
    one = given(world, 300)
    at(world, 300, 100)
    at(world, 500, before_joiner)

    with pytest.raises(Busy, match=UNHEARD):
        ask(world, one, 100, 500)

    world.crash("n300:1")
    assert values(ask(world, one, 100, 500)) == [b"v"]


def test_it_is_given_to_one_that_has_heard_of_its_taker(world):
    """Which is its predecessor."""
    one = given(world, 300)
    at(world, 300, 100)
    at(world, 500, 300)

    assert values(ask(world, one, 100, 500)) == [b"v"]


@pytest.mark.parametrize(("before_that", "heard"), [(300, True), (100, False), (None, False)])
def test_whoever_is_between_has_to_have_heard_of_the_taker(world, before_that, heard):
    """It fetches its part from the joiner, and would answer for what the taker has."""
    one = given(world, 300)
    at(world, 300, 100)
    at(world, 400, before_that, lacks_after=100)
    at(world, 500, 400)

    if heard:
        assert values(ask(world, one, 100, 500)) == [b"v"]
    else:
        with pytest.raises(Busy, match=UNHEARD):
            ask(world, one, 100, 500)


def test_a_taker_that_has_got_nothing_yet_fetches_from_the_joiner(world):
    """Else the two would wait for each other."""
    one = given(world, 300)
    at(world, 300, 100, lacks_after=100)
    at(world, 500, 100)

    assert values(ask(world, one, 100, 500)) == [b"v"]


@pytest.mark.parametrize("nearer", ["dead", "lacking"])
def test_a_taker_further_back_counts_too(world, nearer):
    """The nearest one does not stand for all of them."""
    one = given(world, 250, 300)
    at(world, 250, 100)
    if nearer == "lacking":
        at(world, 300, 100, lacks_after=100)
    at(world, 500, 100)

    with pytest.raises(Busy, match=UNHEARD):
        ask(world, one, 100, 500)


def test_a_taker_that_was_sent_all_just_now_counts(world):
    """It lacks its records as long as they are on their way; it is nudged, so that it hears of the joiner."""
    one = given(world, 300)
    nudged = at(world, 300, 100, lacks_after=100, after=one.members[0].me)
    at(world, 500, 100)

    with pytest.raises(Busy, match=UNHEARD):
        ask(world, one, 100, 500)

    assert world.run(lambda: any(isinstance(request.body, Nudge) for request in nudged), 1.0)
    at(world, 300, 100, lacks_after=100)
    assert values(ask(world, one, 100, 500)) == [b"v"]


def test_a_predecessor_that_was_there_before_counts_as_a_taker(world):
    """It never took anything over from this member, but has its records all the same."""
    hosts = boot(world, [100, 300, 800])
    one = hosts[2]
    put(world, hosts, "k200", b"v")
    member = one.members[0]
    member.reach.taker_gone(member.state.predecessor)
    assert world.run(lambda: member.reach.taker(200) == hosts[1].members[0].me, 10.0)
    tell(one, Notify(pointer(500), complete=False))
    at(world, 500, 100)

    with pytest.raises(Busy, match=UNHEARD):
        ask(world, one, 100, 500)

    world.crash("n300:1")
    forgotten(world, hosts, 300)
    assert values(ask(world, one, 100, 500)) == [b"v"]
    assert member.reach.taker(200) == pointer(500)


def test_a_taker_that_was_lost_sight_of_counts_until_its_arc_is_gathered(world):
    """From then on the member takes puts for it, of which that one knows nothing."""
    hosts = boot(world, [100, 300, 800])
    one = hosts[2]
    member = one.members[0]
    member.reach.taken(100, hosts[1].members[0].me)
    put(world, hosts, "k200", b"v")
    world.lost = lambda sender, receiver, _message: "n300:1" in (sender, receiver)
    assert world.run(lambda: member.state.predecessor is not None and member.state.predecessor.id == 100, 30.0)
    put(world, [hosts[0], one], "k200", b"w")
    assert world.run(lambda: member.reach.covers(101), 30.0)
    world.lost = lambda _sender, _receiver, _message: False

    tell(one, Notify(pointer(500), complete=False))
    assert member.reach.unheard_in(100, 500) == []
    answer = member.serve(Request(1, "ringcast", 1, Get("k200", acting=True)))
    assert values(answer) == [b"w"]


@pytest.mark.parametrize("error", [Busy("is still joining"), WrongCluster("is of another cluster")])
def test_a_taker_that_tells_of_no_neighbours_is_none(world, error):
    """It has handed over and ends, or another process has its address."""
    one = given(world, 300)
    scripted(world, "n300:1", lambda _request: error)
    at(world, 500, 100)

    assert values(ask(world, one, 100, 500)) == [b"v"]


def test_one_that_has_left_is_no_taker(world):
    """It has handed all of its records over."""
    one = given(world, 300)
    at(world, 300, 100)
    at(world, 500, 100)

    tell(one, Leave(pointer(300)))

    assert values(ask(world, one, 100, 500)) == [b"v"]


@pytest.mark.parametrize(("before_joiner", "lacks_after"), [(300, None), (100, 100)])
def test_a_follower_has_to_hear_of_the_taker_itself(world, before_joiner, lacks_after):
    """It comes while those around the joiner before it are asked, which counts for that one alone."""
    one = given(world, 300)
    member = one.members[0]
    at(world, 300, 100, lacks_after)
    at(world, 600, 100)

    def joiner(request: Request):
        if isinstance(request.body, GetNeighbours):
            tell(one, Notify(pointer(600), complete=False))
        return Neighbours(pointer(500), pointer(before_joiner), (pointer(800),), False)

    scripted(world, "n500:1", joiner)
    with pytest.raises(Busy, match="only its predecessor takes over"):
        ask(world, one, 100, 500)

    at(world, 300, 100)
    assert [taker.id for taker in member.reach.unheard_in(100, 600)] == [300]
    with pytest.raises(Busy, match=UNHEARD):
        ask(world, one, 100, 600)


def test_another_joiner_has_to_hear_of_a_taker_that_one_has_heard_of(world):
    """It comes when all have been asked."""
    one = given(world, 300)
    at(world, 300, 100)
    at(world, 500, 300)
    at(world, 600, 100)
    assert values(ask(world, one, 100, 500)) == [b"v"]

    world.crash("n500:1")
    tell(one, Notify(pointer(600), complete=False))

    with pytest.raises(Busy, match=UNHEARD):
        ask(world, one, 100, 600)


def test_a_taker_that_one_has_heard_of_is_a_taker_still(world):
    """Its arc is gathered for a joiner that asks for more than its own, but is not this member's."""
    hosts = boot(world, [100, 800])
    one = hosts[1]
    member = one.members[0]
    put(world, hosts, "k200", b"v")
    member.reach.taken(100, pointer(300))
    member.reach.low = 300
    tell(one, Notify(pointer(500), complete=False))
    at(world, 300, 100)
    at(world, 500, 300)
    assert values(ask(world, one, 100, 500)) == [b"v"]

    world.crash("n500:1")
    at(world, 600, 100)
    tell(one, Notify(pointer(600), complete=False))

    with pytest.raises(Busy, match=UNHEARD):
        ask(world, one, 100, 600)


def test_a_joiner_without_a_predecessor_fetches_nothing(world):
    """It lost sight of it while it asked its successor, and would take the whole circle over."""
    hosts = boot(world, [100, 500, 800])
    member = hosts[1].members[0]
    member.reach.join(100)
    world.sent.clear()

    def lose(_sender: str, _receiver: str, message: object) -> bool:
        if isinstance(getattr(message, "body", None), Neighbours) and member.state.predecessor is not None:
            member.forget(member.state.predecessor)
        return fetches_arc(message)

    world.lost = lose
    assert not world.finish(hosts[1].kernel, handover._fetch_own_arc(member, member.state.successor))
    assert not [message for sender, _, message in world.sent if sender == "n500:1" and fetches_arc(message)]


def test_what_a_joiner_was_sent_before_it_stood_still_is_not_all(world):
    """Its successor may have owned the arc once more since."""
    hosts = boot(world, [100, 500, 800])
    member = hosts[1].members[0]
    member.reach.join(100)
    hosts[2].members[0].reach.predecessor_complete = False

    def stand_still(_sender: str, _receiver: str, message: object) -> bool:
        if isinstance(getattr(message, "body", None), Page):
            member.reach.doubt(world.now)
        return False

    world.lost = stand_still
    assert not world.finish(hosts[1].kernel, handover._fetch_own_arc(member, member.state.successor))

    world.lost = lambda _sender, _receiver, _message: False
    assert world.finish(hosts[1].kernel, handover._fetch_own_arc(member, member.state.successor))


def test_those_around_are_asked_once(world):
    """However many pages there are, and however often the joiner asks meanwhile."""
    one = given(world, 300)
    at(world, 300, 100)
    joiner = at(world, 500, 300)
    request = Request(1, "ringcast", 1, FetchArc(100, 500, takeover=True))
    for _ in range(3):
        with pytest.raises(Busy, match=UNHEARD):
            one.members[0].serve(request)

    for _ in range(3):
        assert values(ask(world, one, 100, 500)) == [b"v"]

    assert len([asked for asked in joiner if isinstance(asked.body, GetNeighbours)]) == 1


@pytest.mark.parametrize(
    ("news", "told"),
    [
        (lambda one: tell(one, Notify(pointer(600), complete=False)), "has been followed by another one"),
        (lambda one: tell(one, Notify(pointer(500), complete=True)), "only until it has its records"),
        (lambda one: one.members[0].reach.join(100), "has not got all of its records yet"),
    ],
)
def test_what_comes_while_replicas_are_asked_counts(world, news, told):
    """Another predecessor, or that it has its records, or that they are gone here: nothing is given then."""
    hosts = boot(world, [100, 300, 800])
    one = hosts[2]
    member = one.members[0]
    world.crash("n300:1")
    forgotten(world, hosts, 300)
    member.reach.taker_gone(next(iter(member.reach.unheard_in(100, 800))))
    tell(one, Notify(pointer(500), complete=False))
    assert not member.reach.covers(150)
    seen: list[object] = []

    def comes(_sender: str, _receiver: str, message: object) -> bool:
        if fetches_arc(message) and not seen:
            seen.append(message)
            news(one)
        return False

    world.lost = comes

    with pytest.raises(Busy, match=told):
        ask(world, one, 100, 500)
    assert seen


def test_a_joiner_that_was_given_nothing_asks_the_replicas(world):
    """At the end of its patience it begins with what it has, which is not all: a reach of its own identifier alone."""
    hosts = boot(world, [100, 500, 800])
    member = hosts[1].members[0]
    rows = kept(hosts[1])
    member.reach.join(100)
    world.lost = lambda _sender, _receiver, message: fetches_arc(message)

    world.finish(hosts[1].kernel, handover.take_over(member), 600.0)

    assert [row.kind for row in rows if row.kind.endswith("complete")] == ["incomplete"]
    assert member.reach.complete
    assert member.reach.covers(500) and not member.reach.covers(499) and not member.reach.covers(501)
    later = world.now + SEASONED_S
    assert not member.reach.seasoned(later)

    world.lost = lambda _sender, _receiver, _message: False
    assert world.run(lambda: member.reach.covers(101), 120.0)
    assert member.reach.seasoned(later)


def test_one_that_was_alone_has_all_there_is(world):
    """Nobody is left that could have given it anything."""
    member = boot(world, [100])[0].members[0]
    member.reach.join(100)

    world.finish(member.kernel, handover.take_over(member), 600.0)

    assert member.reach.complete and member.reach.covers(99)
