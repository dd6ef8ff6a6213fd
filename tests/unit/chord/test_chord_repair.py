"""Repairs: what an owner and its replicas hold becomes the same, and an owner that does not know asks first."""

from __future__ import annotations

import pytest

from chord.effects import call
from chord.errors import (
    Busy,
)
from chord.messages import (
    CompareArc,
    Copy,
    Get,
    Notify,
    Page,
    Put,
    Request,
    Stored,
)
from chord.repair import repair
from tests.unit.chord.stored import LEASE_S, get, held, put
from tests.unit.chord.worlds import World, boot, client, host, pointer


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
