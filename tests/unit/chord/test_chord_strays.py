"""Records that lie where nobody looks for them get to their owners; what is where it belongs stays there quietly."""

from __future__ import annotations

import random

from chord.compared import ARCS_AT_MOST, Compared
from chord.host import Host
from chord.messages import (
    CompareArc,
    ConfirmOwner,
    Copy,
    Hop,
    NextHop,
    Noted,
    Owned,
    Put,
    ReplyBody,
    Request,
    Same,
)
from chord.settings import Settings
from chord.strays import OUTLASTS_S, ROUND_PAUSES
from tests.unit.chord.stored import LEASE_S, fetches_arc, get, held, put
from tests.unit.chord.worlds import SPACE, World, boot, pointer, scripted

ROUND_S = ROUND_PAUSES * Settings().repair_s


def keep(one: Host, names: list[str], value: bytes = b"v") -> None:
    """The process holds these records, of which nobody else knows."""
    for name in names:
        one.members[0].store.put(Put(name, "e", value, LEASE_S), one.kernel.now)


def offers(world: World, by: str) -> list[tuple[str, tuple[str, ...]]]:
    """To whom a process gave records of its own accord, and their names."""
    bodies = [(receiver, getattr(message, "body", None)) for sender, receiver, message in world.sent if sender == by]
    return [
        (receiver, tuple(entry.name for entry in body.entries))
        for receiver, body in bodies
        if isinstance(body, Copy) and body.owned
    ]


def test_what_lies_outside_every_arc_of_its_holder_gets_to_its_owners(world):
    """Within two rounds, with a name that wraps around the circle; once each, however often the rounds go on."""
    hosts = boot(world, [100, 300, 500, 800, 1000])
    keep(hosts[0], ["k250", "k260", "k450", "k1010"])
    keep(hosts[3], ["k1020"])
    world.sent.clear()

    world.run(at_most_s=2 * ROUND_S)

    assert [get(world, hosts[-1:], f"k{key}") for key in (250, 260, 450, 1020)] == [[(1, b"v")]] * 4
    assert offers(world, "n100:1") == [("n300:1", ("k250", "k260")), ("n500:1", ("k450",))]
    assert offers(world, "n800:1") == [("n100:1", ("k1020",))]
    world.sent.clear()
    world.run(at_most_s=3 * ROUND_S)
    assert offers(world, "n100:1") == offers(world, "n800:1") == []


def test_only_what_has_changed_is_given_once_more(world):
    """One of two records that lie next to each other, at an owner that holds more than these."""
    hosts = boot(world, [100, 300, 500, 800, 1000])
    keep(hosts[0], ["k250", "k260"])
    keep(hosts[1], ["k270"])
    world.run(at_most_s=2 * ROUND_S)
    assert offers(world, "n100:1") == [("n300:1", ("k250", "k260"))]
    world.sent.clear()

    keep(hosts[0], ["k260"], b"w")
    world.run(at_most_s=2 * ROUND_S)

    assert offers(world, "n100:1") == [("n300:1", ("k260",))]
    assert get(world, hosts[-1:], "k260") == [(2, b"w")]
    assert get(world, hosts[-1:], "k250") == [(1, b"v")]


def test_whoever_owns_it_now_is_given_what_was_given_to_another(world):
    """The owner that took it has gone without a word, and its copies with it."""
    hosts = boot(world, [100, 300, 500, 800, 1000], Settings(space=SPACE, replicas=1))
    keep(hosts[0], ["k250"])
    world.run(at_most_s=2 * ROUND_S)
    assert held(hosts[1], "k250", world.now) == [b"v"]

    world.crash("n300:1")
    world.lost = lambda _sender, _receiver, message: fetches_arc(message)  # the new owner gathers nothing
    world.sent.clear()
    world.run(at_most_s=3 * ROUND_S)

    assert offers(world, "n100:1") == [("n500:1", ("k250",))]
    assert held(hosts[2], "k250", world.now) == [b"v"]


def test_an_owner_that_takes_nothing_is_offered_it_again(world):
    """Copies to it are lost for a while."""
    hosts = boot(world, [100, 300, 500, 800, 1000])
    keep(hosts[0], ["k250"])
    world.lost = lambda _sender, receiver, message: (
        receiver == "n300:1" and isinstance(getattr(message, "body", None), Copy)
    )
    world.run(at_most_s=2 * ROUND_S)
    assert offers(world, "n100:1")
    assert held(hosts[1], "k250", world.now) == []

    world.lost = lambda _sender, _receiver, _message: False
    world.run(at_most_s=2 * ROUND_S)

    assert held(hosts[1], "k250", world.now) == [b"v"]


def test_a_failure_does_not_have_what_was_taken_offered_again(world):
    """One owner cannot be found for some rounds: the other is not bothered meanwhile."""
    hosts = boot(world, [100, 300, 500, 800, 1000])
    keep(hosts[0], ["k250", "k450"])
    keep(hosts[1], ["k270"])
    keep(hosts[2], ["k470"])
    world.run(at_most_s=2 * ROUND_S)
    assert len(offers(world, "n100:1")) == 2
    world.sent.clear()
    member = hosts[0].members[0]
    world.lost = lambda sender, _receiver, message: (
        sender == "n100:1" and getattr(getattr(message, "body", None), "key", None) == 450
    )

    for _ in range(4):
        world.finish(hosts[0].kernel, hosts[0].strays.go_around(member, world.now))
    world.lost = lambda _sender, _receiver, _message: False
    for _ in range(4):
        world.finish(hosts[0].kernel, hosts[0].strays.go_around(member, world.now))

    assert "n300:1" not in dict(offers(world, "n100:1"))


def test_what_owners_compare_by_themselves_nobody_offers(world):
    """Replicas hold what others own, and no round looks it up."""
    hosts = boot(world, [100, 300, 500])
    for key in (50, 250, 450, 900):
        put(world, hosts, f"k{key}")
    world.run(at_most_s=ROUND_S)
    world.sent.clear()

    world.run(at_most_s=3 * ROUND_S)

    arcs = [message.body for _, _, message in world.sent if isinstance(getattr(message, "body", None), CompareArc)]
    assert {(arc.low, arc.high) for arc in arcs} == {(500, 100), (100, 300), (300, 500)}
    assert [offers(world, one.kernel.address) for one in hosts] == [[], [], []]


def test_a_key_whose_owner_cannot_be_found_hides_nothing_behind_it(world):
    """The next round goes on behind it; and once it can be found, it gets there too."""
    hosts = boot(world, [100, 300, 500, 800, 1000])
    keep(hosts[0], ["k250", "k450"])
    world.lost = lambda sender, _receiver, message: (
        sender == "n100:1" and getattr(getattr(message, "body", None), "key", None) == 250
    )
    world.run(at_most_s=4 * ROUND_S)
    assert (held(hosts[1], "k250", world.now), held(hosts[2], "k450", world.now)) == ([], [b"v"])

    world.lost = lambda _sender, _receiver, _message: False
    world.run(at_most_s=4 * ROUND_S)

    assert held(hosts[1], "k250", world.now) == [b"v"]


def test_a_member_that_leaves_offers_nothing(world):
    """It hands over instead."""
    hosts = boot(world, [100, 300, 500, 800, 1000])
    keep(hosts[0], ["k450"])
    hosts[0].members[0].leaving = True

    world.run(at_most_s=3 * ROUND_S)
    world.finish(hosts[0].kernel, hosts[0].strays.go_around(hosts[0].members[0], world.now))

    assert offers(world, "n100:1") == []


def test_a_member_that_is_alone_asks_nobody(world):
    """Whatever is here is its own."""
    (one,) = boot(world, [100])
    keep(one, ["k450"])
    world.sent.clear()

    world.finish(one.kernel, one.strays.go_around(one.members[0], world.now))
    world.run(at_most_s=3 * ROUND_S)

    assert world.sent == []


def test_arcs_of_siblings_are_passed_over(world):
    """A process of several members in a ring of its own kind looks nothing up for what they own."""
    settings = Settings(space=SPACE)
    hosts = [Host(settings, f"n{number}:1", 2, random.Random(number)) for number in (100, 500)]
    for one in hosts:
        world.add(one.kernel)
        world.finish(one.kernel, one.boot([each.kernel.address for each in hosts[:1] if each is not one], 30.0))
    world.run(at_most_s=10.0)
    for key in (50, 101, 300, 501, 900):
        put(world, hosts, f"k{key}")
    world.run(at_most_s=ROUND_S)
    world.sent.clear()

    world.finish(hosts[0].kernel, hosts[0].strays.go_around(hosts[0].members[0], 0.0))

    assert not [message for sender, _, message in world.sent if sender == "n100:1" and isinstance(message, Request)]


def test_an_owner_beyond_this_member_is_given_nothing(world):
    """Somebody names it for a key that it cannot own, and it agrees: all that is here would be its."""
    hosts = boot(world, [100, 300, 500, 800, 1000])
    keep(hosts[2], ["k950", "k50", "k700"])
    for address in ("n800:1", "n600:1"):
        scripted(world, address, _lie)
    world.sent.clear()

    world.finish(hosts[2].kernel, hosts[2].strays.go_around(hosts[2].members[0], world.now))

    assert ("n500:1", "n600:1") in {(sender, receiver) for sender, receiver, _ in world.sent}
    assert "n600:1" not in dict(offers(world, "n500:1"))


def _lie(request: Request) -> ReplyBody:
    match request.body:
        case NextHop():
            return Hop(pointer(800), True, (pointer(600),))
        case ConfirmOwner():
            return Owned(pointer(600))
        case CompareArc():
            return Same(False)
    return Noted()


def test_what_is_about_to_be_forgotten_is_not_given(world):
    """Its owner may have forgotten it already, and count from 1 again."""
    hosts = boot(world, [100, 300, 500, 800, 1000])
    member = hosts[0].members[0]
    member.store.put(Put("k250", "e", b"v", OUTLASTS_S - 1.0), world.now)
    member.store.put(Put("k251", "e", b"v", OUTLASTS_S + 1.0), world.now)

    world.finish(hosts[0].kernel, hosts[0].strays.go_around(member, world.now))

    assert offers(world, "n100:1") == [("n300:1", ("k251",))]


def test_who_compares_cannot_have_strays_passed_over_for_ever(world):
    """Somebody compares the arc of their owner all the time, in its name."""
    hosts = boot(world, [100, 300, 500, 800, 1000])
    keep(hosts[0], ["k250"])
    member = hosts[0].members[0]
    ended = world.now + 40 * ROUND_S
    while not held(hosts[1], "k250", world.now) and world.now < ended:
        member.serve(Request(1, "ringcast", 1, CompareArc(100, 300, 1)))
        world.run(at_most_s=ROUND_S / 10)

    assert held(hosts[1], "k250", world.now) == [b"v"]


def test_an_arc_of_ones_own_is_not_noted(world):
    """Nor is one that contains it, as the whole circle does."""
    (one,) = boot(world, [500])
    member = one.members[0]
    for low, high in ((0, 0), (400, 600), (400, 500)):
        member.serve(Request(1, "ringcast", 1, CompareArc(low, high, 0)))
        assert member.compared.end_of(450, 0.0) is None

    member.serve(Request(1, "ringcast", 1, CompareArc(400, 499, 0)))

    assert member.compared.end_of(450, 0.0) == 499


def test_arcs_that_were_compared_are_remembered_up_to_a_number():
    """The oldest are forgotten; an owner compares but one arc, its latest."""
    compared = Compared()
    for number in range(ARCS_AT_MOST + 1):
        compared.note(10 * number, 10 * number + 5, float(number))
    assert compared.end_of(3, 0.0) is None
    assert compared.end_of(13, 0.0) == 15
    assert compared.end_of(16, 0.0) is None

    compared.note(12, 15, 1000.0)

    assert compared.end_of(12, 0.0) is None
    assert compared.end_of(13, 1000.0) == 15
    assert compared.end_of(23, 1000.0) is None
