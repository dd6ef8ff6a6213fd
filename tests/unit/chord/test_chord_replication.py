"""Records stay with whoever answers for them, through joins, leaves and crashes."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from chord import handover, record_requests
from chord.arcs import send_arc
from chord.effects import call
from chord.errors import (
    Busy,
    CopiesMissing,
    LocalProtocolError,
    PeerUnreachable,
    Refused,
    RingcastError,
    TooLarge,
)
from chord.host import Host
from chord.kernel import Kernel
from chord.messages import (
    CompareArc,
    ConfirmOwner,
    Copy,
    Entry,
    FetchArc,
    Get,
    Hop,
    Noted,
    Notify,
    Owned,
    Page,
    Put,
    Request,
    Stored,
)
from chord.repair import repair
from chord.ring_state import RingState
from chord.settings import Settings
from tests.records import everything
from tests.unit.chord.worlds import SETTINGS, SPACE, World, boot, client, host, kept, pointer, scripted

LEASE_S = 600.0


def put(world: World, hosts: list[Host], name: str, value: bytes = b"v") -> Stored:
    kernel, ring = client(world, hosts)
    return world.finish(kernel, ring.put(name, "e", value, LEASE_S))


def get(world: World, hosts: list[Host], name: str) -> list[tuple[int, bytes]]:
    kernel, ring = client(world, hosts)
    return [(entry.version, entry.value) for entry in world.finish(kernel, ring.get(name))]


def held(one: Host, name: str, now: float) -> list[bytes]:
    return [entry.value for entry in one.members[0].store.page(name, "", now).entries]


@pytest.mark.parametrize(("members", "copies"), [(1, 1), (2, 2), (3, 3), (5, 3)])
def test_a_put_is_acknowledged_by_as_many_as_can_hold_it(world, members, copies):
    """min(replicas, processes) processes hold an entry when its put returns."""
    hosts = boot(world, [100 * number for number in range(1, members + 1)])

    assert put(world, hosts, "k150") == Stored(1, copies)
    assert sum(bool(held(each, "k150", world.now)) for each in hosts) == copies


def test_a_put_that_too_few_hold_says_so(world):
    """When the replicas refuse the copies for good the put fails with CopiesMissing, which is indefinite."""
    hosts = boot(world, [100, 200, 300])
    member = hosts[0].members[0]
    world.lost = lambda _sender, _receiver, message: isinstance(getattr(message, "body", None), Copy)

    with pytest.raises(CopiesMissing, match=r"held by 1 of \d processes; put it again"):
        world.finish(hosts[0].kernel, record_requests._put(member, Put("k50", "e", b"v", LEASE_S)))

    assert not CopiesMissing.definite


def test_a_replica_that_owns_the_key_refuses_a_copy(world):
    """A copy from somebody who is not the owner of its key is refused, unless it is a hand-over."""
    hosts = boot(world, [100, 200])
    entry = Entry("k150", "e", 1, b"v", LEASE_S)
    kernel, _ = client(world, hosts)

    with pytest.raises(Refused, match="owns a key of this copy itself"):
        world.finish(kernel, call(hosts[1].members[0].me, Copy((entry,)), object))

    world.finish(kernel, send_arc(hosts[0].members[0], hosts[1].members[0].me, 0, 0, True))


def test_a_joiner_has_the_records_of_its_arc(world):
    """After a join the new owner holds the record itself."""
    hosts = boot(world, [100, 500])
    put(world, hosts, "k300")

    joiner = host(world, 400)
    world.finish(joiner.kernel, joiner.boot(["n100:1"], 30.0))

    assert get(world, [joiner], "k300") == [(1, b"v")]
    assert world.run(lambda: joiner.members[0].reach.complete)
    assert held(joiner, "k300", world.now) == [b"v"]


def test_a_joiner_passes_reads_on_until_it_has_everything(world):
    """While its hand-over does not come through, a joiner answers a read from its successor, and so does a put."""
    hosts = boot(world, [100, 500])
    put(world, hosts, "k300")
    world.lost = lambda _sender, _receiver, message: isinstance(getattr(message, "body", None), FetchArc)

    joiner = host(world, 400)
    world.finish(joiner.kernel, joiner.boot(["n100:1"], 30.0))

    assert not joiner.members[0].reach.complete
    assert get(world, [joiner], "k300") == [(1, b"v")]
    assert put(world, hosts, "k300", b"w").version == 2
    assert get(world, [joiner], "k300") == [(2, b"w")]


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
    reach = member.reach
    kernel, _ = client(world, hosts)
    world.sent.clear()

    with pytest.raises(Busy, match=rf"hands nothing over up to {high:016x}: only its predecessor takes over, which is"):
        world.finish(kernel, call(member.me, FetchArc(high, high, takeover=True), Page))

    assert member.reach == reach
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


def fetches_arc(message: object) -> bool:
    return isinstance(getattr(message, "body", None), FetchArc)


def test_two_that_join_side_by_side_both_get_their_records(world):
    """The nearer joiner's hand-over is held up; the farther one joins before it, and ends up with every record."""
    hosts = boot(world, [100, 500])
    for key in (150, 250, 350, 450):
        put(world, hosts, f"k{key}")
    world.lost = lambda sender, _receiver, message: (
        sender == "n400:1" and isinstance(getattr(message, "body", None), FetchArc)
    )
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


def test_a_take_over_that_gives_up_says_so(world):
    """A successor that never hands the arc over: the joiner answers with what it has, and the traces do not lie."""
    hosts = boot(world, [100, 500])
    member = hosts[0].members[0]
    rows = kept(hosts[0])
    world.lost = lambda _sender, _receiver, message: isinstance(getattr(message, "body", None), FetchArc)
    member.reach.complete = False

    world.finish(hosts[0].kernel, handover.take_over(member), 600.0)

    assert member.reach.complete
    assert [row.kind for row in rows if row.kind.endswith("complete")] == ["incomplete"]


def test_a_take_over_ends_when_its_member_joins_anew(world):
    """The next incarnation takes over for itself; the old operation does not call it complete."""
    hosts = boot(world, [100, 500])
    member = hosts[0].members[0]
    rows = kept(hosts[0])
    world.lost = lambda _sender, _receiver, message: isinstance(getattr(message, "body", None), FetchArc)
    member.reach.complete = False
    outcome = world.start(hosts[0].kernel, handover.take_over(member))
    world.run(at_most_s=1.0)

    state = member.state
    member.become(pointer(100, incarnation=9))
    member.state = replace(state, me=member.me)
    assert world.run(lambda: bool(outcome), 30.0)

    assert not member.reach.complete
    assert [row for row in rows if row.kind.endswith("complete")] == []


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


def test_a_joiner_does_not_answer_for_records_that_it_has_not_got(world):
    """When its successors have not got them either, it says so rather than that nothing is stored."""
    hosts = boot(world, [100, 500])
    member = hosts[1].members[0]
    for each in hosts:
        each.members[0].reach.complete = False
    kernel, _ = client(world, hosts)

    with pytest.raises(Busy, match="no successor that has them answers"):
        world.finish(kernel, call(member.me, Get("k300"), Page))


@pytest.mark.parametrize("error", [Busy("b"), CopiesMissing("c"), TooLarge("t"), LocalProtocolError("l")])
def test_giving_back_goes_on_after_any_error(world, error):
    """The owner of one record refuses it; the others get theirs."""
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
            return error if body.entries[0].name == "k150" else Noted()
        return Owned(peer) if isinstance(body, ConfirmOwner) else Hop(peer, True, (peer,))

    got = scripted(world, "n300:1", answer)

    world.finish(one.kernel, handover.hand_back(member, *member.share()))

    given = {entry.name for request in got if isinstance(request.body, Copy) for entry in request.body.entries}
    assert given == {"k150", "k250"}


def test_what_is_replicated_is_what_is_held_then(world):
    """An entry that is sent again, rounds later, has the lease that is left of it."""
    hosts = boot(world, [100, 200])
    member = hosts[0].members[0]
    lost: list[Entry] = []

    def lose(_sender, _receiver, message):
        body = getattr(message, "body", None)
        if isinstance(body, Copy):
            lost.extend(body.entries)
        return isinstance(body, Copy) and len(lost) < 3

    world.lost = lose
    world.finish(hosts[0].kernel, record_requests._put(member, Put("k50", "e", b"v", 10.0)))

    leases = [entry.lease_s for entry in lost]
    assert len(leases) >= 3
    assert sorted(set(leases), reverse=True) == leases


def test_many_registered_are_told_little_by_little(world):
    """A change that is cast to hundreds of addresses does not go out in one burst."""
    hosts = boot(world, [100])
    kernel, ring = client(world, hosts)
    for number in range(300):
        entry = Entry("k50", f"listener {number}", 1, b"", LEASE_S, f"ear{number}:1", guard_s=LEASE_S)
        hosts[0].members[0].store.merge(entry, world.now)
    world.sent.clear()
    began = world.now

    world.finish(kernel, ring.put("k50", "e", b"v", LEASE_S))
    casts = [receiver for _, receiver, _ in world.sent if receiver.startswith("ear")]
    assert len(casts) <= 64

    world.run(lambda: sum(receiver.startswith("ear") for _, receiver, _ in world.sent) == 300, 1.0)
    assert 0.05 < world.now - began < 0.2


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


def compared(world: World, by: str) -> list[tuple[str, CompareArc]]:
    return [
        (receiver, message.body)
        for sender, receiver, message in world.sent
        if sender == by and isinstance(getattr(message, "body", None), CompareArc)
    ]


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


def test_a_leaving_replica_is_no_holder(world):
    """A put that finds a replica leaving is acknowledged by the one after it instead."""
    hosts = boot(world, [100, 200, 300, 400, 500])
    hosts[2].members[0].leaving = True

    stored = put(world, hosts, "k150")

    assert stored.copies == 3
    assert held(hosts[2], "k150", world.now) == []
    assert held(hosts[4], "k150", world.now) == [b"v"]


def test_a_leaving_member_takes_no_hand_over(world):
    """A member on its way out refuses records, so that they go to one that stays."""
    hosts = boot(world, [100, 200, 300])
    hosts[1].members[0].leaving = True
    kernel, _ = client(world, hosts)

    with pytest.raises(Busy, match="is leaving the ring and takes no copies"):
        world.finish(kernel, call(hosts[1].members[0].me, Copy((), True), object))
    with pytest.raises(Busy, match="is leaving the ring"):
        world.finish(kernel, call(hosts[1].members[0].me, Put("k150", "e", b"", LEASE_S), object))


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


def test_a_name_in_another_form_is_refused(world):
    """A record is kept under the NFC form of its name, and a request with another form is told which."""
    hosts = boot(world, [100])
    kernel, _ = client(world, hosts)

    with pytest.raises(RingcastError, match="is not in its NFC form; send"):
        world.finish(kernel, call(pointer(0, "n100:1", 0), Get("e\u0301"), Page))


def test_whoever_is_registered_hears_of_a_change(world):
    """A put and a deletion are cast to every address that an entry of the record registers."""
    hosts = boot(world, [100])
    kernel, ring = client(world, hosts)
    world.finish(kernel, ring.put("k50", "listener", b"", LEASE_S, notify="ear:1"))
    world.sent.clear()

    world.finish(kernel, ring.put("k50", "e", b"v", LEASE_S))
    world.finish(kernel, ring.delete("k50", "e"))

    heard = [message.body.entry for _, receiver, message in world.sent if receiver == "ear:1"]
    assert [(entry.entry, entry.version, entry.deleted) for entry in heard] == [("e", 1, False), ("e", 2, True)]


def test_those_registered_do_not_hear_of_each_other(world):
    """Of thousands that register, each would have to be told of all others: when it comes, changes, goes, or lapses."""
    hosts = boot(world, [100])
    kernel, ring = client(world, hosts)
    world.finish(kernel, ring.put("k50", "listener", b"", LEASE_S, notify="ear:1"))
    world.sent.clear()

    world.finish(kernel, ring.put("k50", "another", b"v", LEASE_S, notify="ear:2"))
    world.finish(kernel, ring.put("k50", "another", b"w", LEASE_S, notify="ear:3"))
    world.finish(kernel, ring.delete("k50", "another"))
    world.finish(kernel, ring.put("k50", "third", b"v", 1.0, notify="ear:4"))
    world.run(at_most_s=5.0)

    assert [receiver for _, receiver, _ in world.sent if receiver.startswith("ear")] == []


def test_nobody_is_told_of_a_lease_that_was_renewed(world):
    """The same value again, under the next version, is no news; another value or address is, and so is the lapse."""
    hosts = boot(world, [100])
    kernel, ring = client(world, hosts)
    world.finish(kernel, ring.put("k50", "listener", b"", LEASE_S, notify="ear:1"))
    world.finish(kernel, ring.put("k50", "e", b"v", 5.0))
    world.sent.clear()

    for _ in range(3):
        assert world.finish(kernel, ring.put("k50", "e", b"v", 5.0)).version > 1
    world.finish(kernel, ring.put("k50", "listener", b"", LEASE_S, notify="ear:1"))
    assert [receiver for _, receiver, _ in world.sent if receiver == "ear:1"] == []

    world.finish(kernel, ring.put("k50", "e", b"w", 5.0))
    world.run(at_most_s=10.0)
    heard = [message.body.entry for _, receiver, message in world.sent if receiver == "ear:1"]
    assert [(entry.value, entry.deleted) for entry in heard] == [(b"w", False), (b"", True)]


def test_an_unreachable_owner_is_a_time_out(world):
    """A put that gets no reply is indefinite."""
    kernel = Kernel("ringcast", "client", random.Random(7))
    world.add(kernel)

    with pytest.raises(PeerUnreachable, match=r"no reply from n1:1 within 0\.50 s"):
        world.finish(kernel, call(pointer(1), Notify(pointer(2)), object))
    assert SETTINGS.replicas == 3
