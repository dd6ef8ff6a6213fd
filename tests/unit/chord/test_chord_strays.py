"""Records that lie where nobody looks for them get to their owners; what is where it belongs stays there quietly."""

from __future__ import annotations

from chord.compared import ARCS_AT_MOST, Compared
from chord.host import Host
from chord.messages import CompareArc, Copy, Put
from chord.settings import Settings
from chord.strays import ROUND_PAUSES
from tests.unit.chord.stored import LEASE_S, get, held, put
from tests.unit.chord.worlds import SPACE, World, boot

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
    world.run(at_most_s=3 * ROUND_S)

    assert held(hosts[2], "k250", world.now) == [b"v"]


def test_an_owner_that_is_busy_is_offered_it_again(world):
    """It takes no copies in the first rounds."""
    hosts = boot(world, [100, 300, 500, 800, 1000])
    keep(hosts[0], ["k250"])
    member = hosts[1].members[0]
    member.leaving = True
    world.run(at_most_s=2 * ROUND_S)
    assert offers(world, "n100:1")
    assert held(hosts[1], "k250", world.now) == []

    member.leaving = False
    world.run(at_most_s=2 * ROUND_S)

    assert held(hosts[1], "k250", world.now) == [b"v"]


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


def test_a_record_whose_owner_cannot_be_found_waits_for_the_next_round(world):
    """Nobody answers a lookup for a while."""
    hosts = boot(world, [100, 300, 500, 800, 1000])
    keep(hosts[0], ["k450"])
    world.lost = lambda sender, _receiver, message: (
        sender == "n100:1" and type(getattr(message, "body", None)).__name__ in ("NextHop", "ConfirmOwner")
    )
    world.run(at_most_s=2 * ROUND_S)
    assert held(hosts[2], "k450", world.now) == []

    world.lost = lambda _sender, _receiver, _message: False
    world.run(at_most_s=2 * ROUND_S)

    assert held(hosts[2], "k450", world.now) == [b"v"]


def test_a_member_that_leaves_or_is_alone_offers_nothing(world):
    """Whoever leaves hands over instead; whoever is alone owns everything."""
    (one,) = boot(world, [100])
    keep(one, ["k450"])
    world.sent.clear()

    world.run(at_most_s=3 * ROUND_S)

    assert world.sent == []


def test_arcs_that_were_compared_are_remembered_up_to_a_number():
    """The oldest are forgotten; an owner compares but one arc, its latest."""
    compared = Compared()
    for number in range(ARCS_AT_MOST + 1):
        compared.same(10 * number, 10 * number + 5, float(number))
    assert compared.up_to(3, 0.0) is None
    assert compared.up_to(13, 0.0) == 15
    assert compared.up_to(16, 0.0) is None

    compared.same(12, 15, 1000.0)

    assert compared.up_to(12, 0.0) is None
    assert compared.up_to(13, 1000.0) == 15
    assert compared.up_to(23, 1000.0) is None
