"""Repairs: what an owner and its replicas hold becomes the same, and an owner that does not know asks first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chord.effects import call
from chord.errors import (
    Busy,
)
from chord.messages import (
    CompareArc,
    Copy,
    FetchArc,
    Get,
    GetNeighbours,
    Neighbours,
    Notify,
    Page,
    Put,
    Request,
    Same,
    Stored,
)
from chord.repair import gather_arc, repair
from chord.ring_state import RingState
from tests.unit.chord.stored import LEASE_S, get, held, put
from tests.unit.chord.worlds import SPACE, World, boot, client, host, pointer, scripted


def compared(world: World, by: str) -> list[tuple[str, CompareArc]]:
    return [
        (receiver, message.body)
        for sender, receiver, message in world.sent
        if sender == by and isinstance(getattr(message, "body", None), CompareArc)
    ]


def test_one_repair_goes_on_at_a_time(world):
    """Repairs asked for while one goes on are made once, after it, on the arc of then."""
    hosts = boot(world, [100, 500, 800])
    member = hosts[1].members[0]
    world.sent.clear()

    outcomes = [world.start(hosts[1].kernel, repair(member)) for _ in range(3)]
    assert len(compared(world, "n500:1")) == 1
    assert world.run(lambda: all(outcomes) and not member.repairing, 1.0)

    assert len(compared(world, "n500:1")) == 4


def test_a_repair_compares_the_arc_of_now(world):
    """A predecessor that comes between two comparisons shortens the second."""
    hosts = boot(world, [100, 500, 800])
    member = hosts[1].members[0]
    world.sent.clear()
    world.lost = lambda _sender, receiver, message: (
        receiver == "n800:1" and isinstance(getattr(message, "body", None), CompareArc)
    )

    outcome = world.start(hosts[1].kernel, repair(member))
    member.serve(Request(1, "ringcast", 1, Notify(pointer(300))))
    assert world.run(lambda: bool(outcome), 10.0)

    assert next(body.low for receiver, body in compared(world, "n500:1") if receiver == "n100:1") == 300


def test_an_owner_gets_from_its_replicas_what_it_lacks(world):
    """A node joined and its predecessor died before it copied anything there: the replicas bring that back."""
    hosts = boot(world, [100, 300, 500, 800])
    put(world, hosts, "k250")
    world.lost = lambda sender, receiver, message: (
        sender == "n300:1" and receiver == "n400:1" and isinstance(getattr(message, "body", None), Copy)
    )
    joiner = host(world, 400)
    world.finish(joiner.kernel, joiner.boot(["n100:1"], 30.0))
    assert world.run(lambda: joiner.members[0].reach.complete)
    assert held(joiner, "k250", world.now) == []

    world.crash("n300:1")
    world.run(lambda: joiner.members[0].owns(250), 30.0)
    world.run(at_most_s=6.0)

    assert get(world, [joiner], "k250") == [(1, b"v")]


def test_an_owner_by_the_death_of_its_predecessor_asks_before_it_answers(world):
    """From the moment it stands in for the dead one it reads what the replicas hold, and counts versions on from it."""
    hosts = boot(world, [100, 300, 500, 800])
    for number in range(6):
        put(world, hosts, f"k{250 + number}")
    world.lost = lambda sender, receiver, message: (
        sender == "n300:1" and receiver == "n400:1" and isinstance(getattr(message, "body", None), Copy)
    )
    joiner = host(world, 400)
    world.finish(joiner.kernel, joiner.boot(["n100:1"], 30.0))
    assert world.run(lambda: joiner.members[0].reach.complete)
    member = joiner.members[0]
    # No repair of its own in between: what is read is what it asked for.
    member.repairing = True
    world.crash("n300:1")

    asked = pointer(400, incarnation=member.me.incarnation)
    kernel, _ = client(world, hosts)
    assert world.run(lambda: member.answers_for(250), 30.0)
    page = world.finish(kernel, call(asked, Get("k250"), Page, attempts=3))
    stored = world.finish(kernel, call(asked, Put("k251", "e", b"w", LEASE_S), Stored, attempts=3))

    assert [(entry.version, entry.value) for entry in page.entries] == [(1, b"v")]
    assert stored.version == 2
    member.repairing = False
    world.finish(joiner.kernel, repair(member))
    assert world.run(lambda: member.owns(255) and member.reach.covers(255), 30.0)


def test_an_owner_that_cannot_ask_does_not_guess(world):
    """No replica answers: a put is refused as busy rather than counted from 1."""
    hosts = boot(world, [100, 300, 500])
    member = hosts[1].members[0]
    member.reach.low = 290
    world.lost = lambda sender, receiver, _message: sender == "n300:1" and receiver in ("n100:1", "n500:1")
    kernel, _ = client(world, hosts)

    with pytest.raises(
        Busy, match=r"has not heard yet what the former owner of \(00000000000000f9, 00000000000000fa\] stored"
    ):
        world.finish(kernel, call(member.me, Put("k250", "e", b"w", LEASE_S), Stored, attempts=4))


def at(identifier: int) -> str:
    return {100: "n100:1", 600: "c:1", 700: "c:1"}.get(identifier, "b:1")


@pytest.mark.parametrize("end", [(100, 200), (300, 400)])
def test_what_a_dead_member_stored_is_asked_for_all_around_the_ring(world, end):
    """Past lists that name only processes that were asked already, and no further than once around."""
    lists = {300: (400, 500), 500: (600, 700), 700: end}

    def answer(request: Request):
        match request.body:
            case FetchArc():
                return Page((), more=False)
            case GetNeighbours():
                identifier = request.to[0]
                row = tuple(pointer(each, at(each)) for each in lists[identifier])
                return Neighbours(pointer(identifier, at(identifier)), None, row, whole=False)

    asked = {address: scripted(world, address, answer) for address in ("b:1", "c:1")}
    one = host(world, 100)
    member = one.members[0]
    member.active = True
    member.state = RingState(
        member.me, SPACE, 2, 1, tuple(pointer(each, at(each)) for each in (200, 300)), whole=False, predecessor=None
    )

    world.finish(one.kernel, gather_arc(member, 50, 90))

    fetched = {address: sum(isinstance(each.body, FetchArc) for each in got) for address, got in asked.items()}
    assert fetched == {"b:1": 1, "c:1": 1}


def test_a_repair_of_before_a_standstill_ends_no_doubt(world):
    """What its replicas answered was so before others took puts."""
    hosts = boot(world, [100, 200, 300])
    member = hosts[0].members[0]
    outcome = world.start(hosts[0].kernel, repair(member))
    member.reach.doubt(world.now)

    seen: list[bool] = []

    def covered(_sender: str, receiver: str, message: object) -> bool:
        if receiver == "n100:1" and isinstance(getattr(message, "body", None), Same):
            seen.append(member.reach.doubted)
        return False

    world.lost = covered
    assert world.run(lambda: bool(outcome), 10.0)
    assert seen and all(seen)


def test_a_record_is_not_gathered_while_its_arc_is(world):
    """Whoever asks is told to ask again."""
    hosts = boot(world, [100, 200, 300])
    member = hosts[0].members[0]
    put(world, hosts, "k50")
    member.reach.doubt(world.now)
    asked = Request(1, "ringcast", 1, Get("k50"))

    member.repairing = True
    with pytest.raises(Busy, match="stood still, and asks what others have taken"):
        world.finish(hosts[0].kernel, member.serve(asked))

    member.repairing = False
    assert [entry.value for entry in world.finish(hosts[0].kernel, member.serve(asked)).entries] == [b"v"]


def test_what_was_gathered_before_a_standstill_is_no_answer(world):
    """Others may have taken puts since."""
    hosts = boot(world, [100, 200, 300])
    member = hosts[0].members[0]
    put(world, hosts, "k50")
    member.reach.low = 99

    def stand_still(_sender: str, _receiver: str, message: object) -> bool:
        if isinstance(getattr(message, "body", None), Page):
            member.reach.doubt(world.now)
        return False

    world.lost = stand_still
    with pytest.raises(Busy, match="or stood still"):
        world.finish(hosts[0].kernel, member.serve(Request(1, "ringcast", 1, Get("k50"))))


def test_a_member_without_successors_that_has_lost_some_does_not_guess(world):
    """There are others, none of whom it can ask; one that is alone knows that there are none."""
    hosts = boot(world, [100, 200, 300])
    member = hosts[0].members[0]
    world.lost = lambda _sender, _receiver, _message: True
    member.state = replace(member.state, successors=(), whole=False)

    with pytest.raises(Busy, match="has not heard yet what the former owner"):
        world.finish(hosts[0].kernel, gather_arc(member, 50, 90))

    member.state = replace(member.state, whole=True)
    world.finish(hosts[0].kernel, gather_arc(member, 50, 90))


def test_a_member_that_has_lost_the_ring_is_no_end_of_it(world):
    """Nothing is known of whoever comes after it."""

    def answer(request: Request):
        if isinstance(request.body, FetchArc):
            return Page((), more=False)
        return Neighbours(pointer(300), None, (), whole=False)

    for address in ("n200:1", "n300:1"):
        scripted(world, address, answer)
    one = host(world, 100)
    member = one.members[0]
    member.active = True
    member.state = RingState(member.me, SPACE, 2, 1, (pointer(200), pointer(300)), whole=False, predecessor=None)

    with pytest.raises(Busy, match="has not heard yet what the former owner"):
        world.finish(one.kernel, gather_arc(member, 50, 90))
