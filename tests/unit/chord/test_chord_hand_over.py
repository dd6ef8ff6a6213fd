"""A leaver hands its records to those that stay, and a member gives back what is not its own."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from chord import handover
from chord.effects import call
from chord.errors import (
    Busy,
    CopiesMissing,
    LocalProtocolError,
    TooLarge,
)
from chord.host import Host
from chord.messages import (
    ConfirmOwner,
    Copy,
    Entry,
    Hop,
    Noted,
    Owned,
    Put,
    Request,
)
from chord.ring_state import RingState
from chord.settings import Settings
from tests.records import everything
from tests.unit.chord.stored import LEASE_S, get, held, put
from tests.unit.chord.worlds import SPACE, boot, client, host, kept, pointer, scripted


@pytest.mark.parametrize(
    ("others", "said"),
    [([], "there was nobody to take its records"), ([500], "nobody took its records: no reply from n500:1")],
)
def test_a_leaver_that_nobody_takes_over_from_says_so(world, others, said):
    """Its last event names why, and so does what it returns; that of one that handed over names to whom."""
    hosts = boot(world, [100, *others])
    put(world, hosts[:1], "k50")
    rows = kept(hosts[0])
    world.lost = lambda sender, _receiver, _message: sender == "n500:1"

    lost = world.finish(hosts[0].kernel, hosts[0].leave(), 60.0)

    assert lost.startswith(said)
    assert next(row.detail for row in rows if row.kind == "left") == lost


def test_a_leaver_without_records_loses_none(world):
    """Nobody is told of a loss that there is not."""
    (one,) = boot(world, [100])
    put(world, [one], "k50")
    kernel, ring = client(world, [one])
    world.finish(kernel, ring.delete("k50", "e"))

    assert world.finish(one.kernel, one.leave(), 60.0) == ""


def test_a_leaver_waits_until_it_has_joined_anew(world):
    """Stopped while it is on its way to another ring, a member hands its records over there."""
    hosts = boot(world, [100])
    put(world, hosts, "k50")
    other = host(world, 500)
    world.finish(other.kernel, other.boot([], 30.0))
    world.start(hosts[0].kernel, hosts[0].rejoin(hosts[0].members[0], [pointer(0, "n500:1", 0)]))

    assert world.finish(hosts[0].kernel, hosts[0].leave(), 60.0) == ""
    assert get(world, [other], "k50") == [(1, b"v")]


def test_a_leaver_that_cannot_join_anew_says_what_it_takes_with_it(world):
    """Nobody is there to take its records."""
    (one,) = boot(world, [100])
    put(world, [one], "k50")
    world.start(one.kernel, one.rejoin(one.members[0], [pointer(0, "n500:1", 0)]))

    assert "gave its records to nobody" in world.finish(one.kernel, one.leave(), 60.0)


@pytest.mark.parametrize("error", [Busy("b"), CopiesMissing("c"), TooLarge("t"), LocalProtocolError("l")])
def test_giving_back_goes_on_after_any_error(world, error):
    """The owner of one record refuses it: the others get theirs, and it is offered again until it is taken."""
    one = host(world, 500)
    member = one.members[0]
    for key in (150, 450, 250):
        member.store.put(Put(f"k{key}", "e", b"v", LEASE_S), world.now)
    member.active = True
    peer = pointer(300)
    member.state = RingState(member.me, SPACE, 8, 3, (peer,), True, peer)

    def answer(request: Request):
        body = request.body
        if isinstance(body, Copy):
            return error if body.entries[0].name == "k150" and refuses else Noted()
        return Owned(peer) if isinstance(body, ConfirmOwner) else Hop(peer, True, (peer,))

    refuses = True
    got = scripted(world, "n300:1", answer)

    def given() -> list[str]:
        return [entry.name for request in got if isinstance(request.body, Copy) for entry in request.body.entries]

    outcome = world.start(one.kernel, handover.hand_back(member, *member.share()))
    assert world.run(lambda: given().count("k150") > 1)
    assert "k250" in given()
    assert not outcome

    refuses = False
    assert world.run(lambda: bool(outcome))
    assert given().count("k250") == 1
    copies = [request.body for request in got if isinstance(request.body, Copy)]
    assert all(copy.handover and copy.owned and copy.onward for copy in copies)  # it may be another's by now


def test_what_a_member_stands_in_for_is_not_given_back_to_itself(world):
    """It has lost all others, and each lookup ends at itself; the owner gets its record when it is there again."""
    hosts = boot(world, [100, 500])
    one = hosts[1]
    member = one.members[0]
    settled = member.state
    world.lost = lambda sender, receiver, _message: "n100:1" in (sender, receiver)
    member.state = replace(settled, successors=(), whole=True)
    member.store.merge(Entry("k50", "e", 1, b"v", 600.0), world.now)

    outcome = world.start(one.kernel, handover.hand_back(member, 499, 100))
    world.run(at_most_s=1.0)
    assert not outcome

    world.lost = lambda _sender, _receiver, _message: False
    member.state = settled
    assert world.run(lambda: held(hosts[0], "k50", world.now) == [b"v"], 30.0)


def test_a_leaving_member_hands_over_what_was_handed_to_it(world):
    """Neighbours leave one after the other, each having just got the records of the one before it."""
    hosts = boot(world, [100, 200, 300, 400, 800], Settings(space=SPACE, replicas=1))
    put(world, hosts, "k150")
    member = hosts[2].members[0]
    entry = everything(hosts[1].members[0].store, 0, 0, world.now)[0]
    world.finish(hosts[1].kernel, call(member.me, Copy((entry,), True), object))

    world.finish(hosts[2].kernel, hosts[2].leave())

    assert held(hosts[3], "k150", world.now) == [b"v"]


def test_what_a_leaving_member_held_is_held_by_three_that_stay(world):
    """When it is gone, two of the others may die at once: its own records and those it held for others remain."""
    hosts = boot(world, [100, 200, 300, 400, 500, 600, 800])
    for key in (150, 250, 350):  # of the leaver's predecessor's predecessor, of its predecessor, and of its own
        put(world, hosts, f"k{key}")
    before = world.now

    world.finish(hosts[3].kernel, hosts[3].leave())

    assert world.now - before < 0.1, "no repair has had the time to copy anything anew"
    others = [one for one in hosts if one is not hosts[3]]
    for key in (150, 250, 350):
        holders = [one for one in others if held(one, f"k{key}", world.now) == [b"v"]]
        assert len(holders) >= 3, f"k{key} is held by {len(holders)}"


def test_a_leaving_member_takes_no_hand_over(world):
    """A member on its way out refuses records, so that they go to one that stays."""
    hosts = boot(world, [100, 200, 300])
    hosts[1].members[0].leaving = True
    kernel, _ = client(world, hosts)

    with pytest.raises(Busy, match="is leaving the ring and takes no copies"):
        world.finish(kernel, call(hosts[1].members[0].me, Copy((), True), object))
    with pytest.raises(Busy, match="is leaving the ring"):
        world.finish(kernel, call(hosts[1].members[0].me, Put("k150", "e", b"", LEASE_S), object))


def test_no_virtual_node_of_a_leaving_process_takes_puts(world):
    """While one hands over the others take nothing: it would go with the process if nobody is there to copy it to."""
    settings = Settings(space=SPACE, replicas=2)
    big = Host(settings, "n10:1", 2, random.Random(3))
    world.add(big.kernel)
    world.finish(big.kernel, big.boot([], 30.0))
    small = host(world, 800, settings)
    world.finish(small.kernel, small.boot(["n10:1"], 30.0))
    world.run(at_most_s=10.0)
    kernel, _ = client(world, [big])
    world.crash(small.kernel.address)

    world.start(big.kernel, big.leave())

    for member in big.members:
        with pytest.raises(Busy, match="is leaving the ring"):
            world.finish(kernel, call(member.me, Put(f"k{member.me.id}", "e", b"", LEASE_S), object))


def test_virtual_nodes_of_the_leaving_process_are_no_place_for_its_records(world):
    """However many of its own virtual nodes follow, a leaver's records go to another process."""
    settings = Settings(space=SPACE, replicas=1)
    big = Host(settings, "n10:1", 9, random.Random(3))
    world.add(big.kernel)
    world.finish(big.kernel, big.boot([], 30.0))
    small = host(world, 800, settings)
    world.finish(small.kernel, small.boot(["n10:1"], 30.0))
    world.run(at_most_s=10.0)
    for key in (5, 11, 13, 15):
        put(world, [big], f"k{key}")

    world.finish(big.kernel, big.leave())

    assert [held(small, f"k{key}", world.now) for key in (5, 11, 13, 15)] == [[b"v"]] * 4
