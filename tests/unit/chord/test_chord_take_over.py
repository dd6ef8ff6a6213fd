"""A joiner gets the records of its arc, and its successor answers for them until then."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chord import handover
from chord.effects import call
from chord.errors import (
    Busy,
    RingcastError,
)
from chord.messages import (
    FetchArc,
    Get,
    Notify,
    Page,
    Request,
)
from tests.unit.chord.stored import fetches_arc, get, held, put
from tests.unit.chord.worlds import boot, client, host, kept, pointer


def test_a_joiner_has_the_records_of_its_arc(world):
    """After a join the new owner holds the record itself."""
    hosts = boot(world, [100, 500])
    put(world, hosts, "k300")

    joiner = host(world, 400)
    world.finish(joiner.kernel, joiner.boot(["n100:1"], 30.0))

    assert get(world, [joiner], "k300") == [(1, b"v")]
    assert world.run(lambda: joiner.members[0].reach.complete)
    assert held(joiner, "k300", world.now) == [b"v"]


def test_a_joiner_takes_nothing_over_before_the_ring_leads_to_it(world):
    """Its predecessor has joined just now itself, and of that one the ring hears nothing yet."""
    hosts = boot(world, [100, 500])
    put(world, hosts, "k300")
    knows = False
    # What the first of two joiners has heard of the ring, the ring is not to hear of it.
    world.lost = lambda sender, receiver, message: (
        not knows and sender == "n100:1" and receiver == "n200:1" and isinstance(message, Request)
    )
    first, second = host(world, 200), host(world, 400)
    entering = world.start(first.kernel, first.boot(["n100:1"], 30.0))
    world.run(lambda: first.members[0].active)
    world.finish(second.kernel, second.boot(["n200:1"], 30.0))
    member = second.members[0]
    world.run(at_most_s=5.0)

    assert not entering
    assert member.adopted and not member.attached and not member.reach.complete
    assert get(world, [second], "k300") == [(1, b"v")]

    knows = True
    assert world.run(lambda: member.reach.complete and bool(entering), 10.0)
    assert held(second, "k300", world.now) == [b"v"]


def test_a_ring_that_is_gone_begins_anew_with_its_joiners(world):
    """Who had adopted neither of them has died: they are the ring, after the time that a joiner waits for records."""
    boot(world, [100])
    world.lost = lambda sender, _receiver, message: sender == "n100:1" and isinstance(message, Request)
    first, second = host(world, 200), host(world, 400)
    world.start(first.kernel, first.boot(["n100:1"], 30.0))
    assert world.run(lambda: first.members[0].active, 5.0)
    world.start(second.kernel, second.boot(["n200:1"], 30.0))
    assert world.run(lambda: second.members[0].active, 5.0)
    world.crash("n100:1")
    joiners = [first.members[0], second.members[0]]
    assert not any(joiner.attached or joiner.reach.complete for joiner in joiners)

    assert world.run(lambda: all(joiner.attached and joiner.reach.complete for joiner in joiners), 60.0)


def test_a_joiner_passes_reads_on_until_it_has_everything(world):
    """While its hand-over does not come through, a joiner answers a read from its successor, and so does a put."""
    hosts = boot(world, [100, 500])
    put(world, hosts, "k300")
    world.lost = lambda _sender, _receiver, message: fetches_arc(message)

    joiner = host(world, 400)
    world.finish(joiner.kernel, joiner.boot(["n100:1"], 30.0))

    assert not joiner.members[0].reach.complete
    assert get(world, [joiner], "k300") == [(1, b"v")]
    assert put(world, hosts, "k300", b"w").version == 2
    assert get(world, [joiner], "k300") == [(2, b"w")]


def test_a_joiner_does_not_answer_for_records_that_it_has_not_got(world):
    """When its successors have not got them either, it says so rather than that nothing is stored."""
    hosts = boot(world, [100, 500])
    member = hosts[1].members[0]
    for each in hosts:
        each.members[0].reach.complete = False
    kernel, _ = client(world, hosts)

    with pytest.raises(Busy, match="no successor that has them answers"):
        world.finish(kernel, call(member.me, Get("k300"), Page))


def test_an_incomplete_member_hands_nothing_over(world):
    """Whoever fetches an arc from a member that is itself fetching waits: half of it would pass for all of it."""
    hosts = boot(world, [100, 500])
    put(world, hosts, "k300")
    member = hosts[1].members[0]
    member.reach.complete = False
    kernel, _ = client(world, hosts)

    with pytest.raises(Busy, match="has not got all of its records yet"):
        world.finish(kernel, call(member.me, FetchArc(100, 400, takeover=True), Page))


@pytest.mark.parametrize("high", [100, 250, 400])
def test_an_arc_is_handed_over_to_nobody_but_a_joiner(world, high):
    """Whoever is not the predecessor, or has its records, gets none for a hand-over, and moves nothing here."""
    hosts = boot(world, [100, 400, 500, 700])
    put(world, hosts, "k300")
    member = hosts[2].members[0]
    assert member.reach.predecessor_complete
    before = dict(vars(member.reach))
    kernel, _ = client(world, hosts)
    world.sent.clear()

    with pytest.raises(Busy, match=rf"hands nothing over up to {high:016x}: only its predecessor takes over, which is"):
        world.finish(kernel, call(member.me, FetchArc(high, high, takeover=True), Page))

    assert vars(member.reach) == before
    assert not [message for sender, _, message in world.sent if sender == "n500:1" and fetches_arc(message)]
    page = world.finish(kernel, call(member.me, FetchArc(250, 400), Page))
    assert [entry.value for entry in page.entries] == [b"v"]  # a look at its copies is anybody's


def test_a_hand_over_goes_to_the_predecessor_alone(world):
    """While a joiner fetches, whoever is not at its place gets nothing; the joiner gets all."""
    hosts = boot(world, [100, 500])
    put(world, hosts, "k300")
    world.lost = lambda sender, _receiver, message: sender == "n400:1" and fetches_arc(message)
    joiner = host(world, 400)
    world.finish(joiner.kernel, joiner.boot(["n100:1"], 30.0))
    member = hosts[1].members[0]
    assert member.state.predecessor == joiner.members[0].me and not member.reach.predecessor_complete
    kernel, _ = client(world, hosts)

    for high in (399, 450):
        with pytest.raises(Busy, match="hands nothing over"):
            world.finish(kernel, call(member.me, FetchArc(100, high, takeover=True), Page))
    page = world.finish(kernel, call(member.me, FetchArc(100, 400, takeover=True), Page))

    assert [entry.value for entry in page.entries] == [b"v"]


def test_two_that_join_side_by_side_both_get_their_records(world):
    """The nearer joiner's hand-over is held up; the farther one joins before it, and ends up with every record."""
    hosts = boot(world, [100, 500])
    for key in (150, 250, 350, 450):
        put(world, hosts, f"k{key}")
    world.lost = lambda sender, _receiver, message: sender == "n400:1" and fetches_arc(message)
    nearer = host(world, 400)
    world.finish(nearer.kernel, nearer.boot(["n100:1"], 30.0))
    farther = host(world, 300)
    world.finish(farther.kernel, farther.boot(["n100:1"], 30.0))
    world.run(at_most_s=1.0)

    assert [get(world, [farther], f"k{key}") for key in (150, 250, 350, 450)] == [[(1, b"v")]] * 4
    world.lost = lambda _sender, _receiver, _message: False
    assert world.run(lambda: nearer.members[0].reach.complete and farther.members[0].reach.complete)

    assert [held(farther, f"k{key}", world.now) for key in (150, 250)] == [[b"v"]] * 2
    assert [get(world, [farther], f"k{key}") for key in (150, 250, 350, 450)] == [[(1, b"v")]] * 4


def test_who_has_come_between_fetches_from_the_joiner(world):
    """A joiner takes over as far back as where it joined: whoever has become its predecessor since then lacks all."""
    hosts = boot(world, [100, 300, 400, 500])
    joiner, successor = hosts[2].members[0], hosts[3].members[0]
    joiner.reach.join(after=100)
    successor.reach.predecessor_complete = False
    world.sent.clear()

    world.finish(hosts[2].kernel, handover.take_over(joiner))

    fetched = [message.body for sender, _, message in world.sent if sender == "n400:1" and fetches_arc(message)]
    assert [(body.low, body.high) for body in fetched if body.takeover] == [(100, 400)]


def test_a_joiner_that_cannot_notify_its_successor_completes(world):
    """The notice to the successor gets no reply: the joiner fetches its records all the same, and is adopted later."""
    hosts = boot(world, [100, 500, 800])
    put(world, hosts, "k300")
    joiner = host(world, 400)
    world.lost = lambda _sender, _receiver, message: (
        isinstance(message, Request) and isinstance(message.body, Notify) and message.call != 0
    )

    world.finish(joiner.kernel, joiner.boot(["n100:1"], 30.0))

    assert world.run(lambda: joiner.members[0].reach.complete, 30.0)
    assert held(joiner, "k300", world.now) == [b"v"]


def test_a_take_over_that_gives_up_says_so(world):
    """A successor that never hands the arc over: the joiner answers with what it has, and the traces do not lie."""
    hosts = boot(world, [100, 500])
    member = hosts[0].members[0]
    rows = kept(hosts[0])
    world.lost = lambda _sender, _receiver, message: fetches_arc(message)
    member.reach.complete = False

    world.finish(hosts[0].kernel, handover.take_over(member), 600.0)

    assert member.reach.complete
    assert [row.kind for row in rows if row.kind.endswith("complete")] == ["incomplete"]


def test_joiners_that_no_ring_leads_to_do_not_wait_for_ever(world):
    """All that could have led to them have gone, as far as anybody can tell, and none of them finds itself alone."""
    hosts = boot(world, [100, 500])
    for each in hosts:
        each.members[0].attached = False
    hosts[1].members[0].reach.complete = False

    world.finish(hosts[1].kernel, handover.take_over(hosts[1].members[0]), 600.0)

    assert world.run(lambda: all(each.members[0].attached for each in hosts), 5.0)


def test_a_take_over_ends_when_its_member_joins_anew(world):
    """The next incarnation takes over for itself; the old operation does not call it complete."""
    hosts = boot(world, [100, 500])
    member = hosts[0].members[0]
    rows = kept(hosts[0])
    world.lost = lambda _sender, _receiver, message: fetches_arc(message)
    member.reach.complete = False
    outcome = world.start(hosts[0].kernel, handover.take_over(member))
    world.run(at_most_s=1.0)

    state = member.state
    member.become(pointer(100, incarnation=9))
    member.state = replace(state, me=member.me)
    assert world.run(lambda: bool(outcome), 30.0)

    assert not member.reach.complete
    assert [row for row in rows if row.kind.endswith("complete")] == []


def test_a_name_in_another_form_is_refused(world):
    """A record is kept under the NFC form of its name, and a request with another form is told which."""
    hosts = boot(world, [100])
    kernel, _ = client(world, hosts)

    with pytest.raises(RingcastError, match="is not in its NFC form; send"):
        world.finish(kernel, call(pointer(0, "n100:1", 0), Get("e\u0301"), Page))
