"""A put is acknowledged by its copies, and told to those that are registered in the record."""

from __future__ import annotations

import pytest

from chord import record_requests
from chord.arcs import send_arc
from chord.effects import call
from chord.errors import (
    CopiesMissing,
    Refused,
)
from chord.messages import (
    Copy,
    Entry,
    Noted,
    Put,
    Reply,
    Request,
    Stored,
)
from chord.ring_state import dropped
from tests.unit.chord.stored import LEASE_S, held, put
from tests.unit.chord.worlds import boot, client, scripted


@pytest.mark.parametrize(("members", "copies"), [(1, 1), (2, 2), (3, 3), (5, 3)])
def test_a_put_is_acknowledged_by_as_many_as_can_hold_it(world, members, copies):
    """min(replicas, processes) processes hold an entry when its put returns."""
    hosts = boot(world, [100 * number for number in range(1, members + 1)])

    assert put(world, hosts, "k150") == Stored(1, copies)
    assert sum(bool(held(each, "k150", world.now)) for each in hosts) == copies


def test_whoever_joins_while_copies_are_under_way_is_to_hold_one_too(world):
    """How many have to hold an entry is told by the ring when the copies have come, not when they were sent."""
    hosts = boot(world, [100, 200, 300])
    member = hosts[0].members[0]
    all_three = member.state
    member.state = dropped(all_three, all_three.successors[1])

    def copied(_sender: str, _receiver: str, message: Request | Reply) -> bool:
        if isinstance(getattr(message, "body", None), Copy):
            member.state = all_three
        return False

    world.lost = copied

    stored = world.finish(hosts[0].kernel, record_requests._put(member, Put("k50", "e", b"v", LEASE_S)))

    assert stored == Stored(1, 3)
    assert all(held(each, "k50", world.now) for each in hosts)


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


@pytest.mark.parametrize(
    ("value", "version", "newer"), [(b"other", 2, True), (b"w", 1, True), (b"v", 1, False), (b"u", 1, False)]
)
def test_a_replica_says_that_it_holds_something_newer(world, value, version, newer):
    """Another version, or a value that wins over it; not what it has just taken in."""
    hosts = boot(world, [100, 200])
    replica = hosts[1].members[0]
    replica.store.merge(Entry("k50", "e", version, value, LEASE_S), world.now)
    kernel, _ = client(world, hosts)

    copy = Copy((Entry("k50", "e", 1, b"v", LEASE_S),))
    assert world.finish(kernel, call(replica.me, copy, Noted)) == Noted(newer=newer)


def test_what_a_replica_is_about_to_forget_is_nothing_newer(world):
    """Its owner has forgotten it already, and counts from 1 again."""
    hosts = boot(world, [100, 200])
    replica = hosts[1].members[0]
    replica.store.merge(Entry("k50", "e", 5, b"", 1.0, deleted=True), world.now)
    kernel, _ = client(world, hosts)
    world.run(at_most_s=1.0)

    assert world.finish(kernel, call(replica.me, Copy((Entry("k50", "e", 1, b"v", LEASE_S),)), Noted)) == Noted()
    assert held(hosts[1], "k50", world.now) == [b"v"]


def test_a_put_beside_something_newer_is_not_acknowledged_and_counts_on_from_there(world):
    """Others took puts for the key while its owner stood still; the client asks again."""
    hosts = boot(world, [100, 200, 300])
    owner = hosts[0].members[0]
    hosts[2].members[0].store.merge(Entry("k50", "e", 5, b"meanwhile", LEASE_S), world.now)

    with pytest.raises(CopiesMissing, match="holds something newer of 'e' of 'k50'; put it again"):
        world.finish(hosts[0].kernel, record_requests._put(owner, Put("k50", "e", b"v", LEASE_S)))

    assert held(hosts[0], "k50", world.now) == [b"meanwhile"]
    again = world.finish(hosts[0].kernel, record_requests._put(owner, Put("k50", "e", b"v", LEASE_S)))
    assert again.version == 6


def test_a_put_that_a_later_one_overtakes_is_acknowledged(world):
    """Its owner holds what is newer too."""
    hosts = boot(world, [100, 200, 300])
    owner = hosts[0].members[0]
    scripted(world, "n200:1", lambda _request: Noted(newer=True))
    overtaken: list[object] = []

    def overtake(_sender: str, _receiver: str, message: Request | Reply) -> bool:
        if isinstance(getattr(message, "body", None), Copy) and not overtaken:
            overtaken.append(owner.store.put(Put("k50", "e", b"later", LEASE_S), world.now))
        return False

    world.lost = overtake
    stored = world.finish(hosts[0].kernel, record_requests._put(owner, Put("k50", "e", b"v", LEASE_S)))
    assert stored == Stored(1, 3)


def test_a_leaving_replica_is_no_holder(world):
    """A put that finds a replica leaving is acknowledged by the one after it instead."""
    hosts = boot(world, [100, 200, 300, 400, 500])
    hosts[2].members[0].leaving = True

    stored = put(world, hosts, "k150")

    assert stored.copies == 3
    assert held(hosts[2], "k150", world.now) == []
    assert held(hosts[4], "k150", world.now) == [b"v"]


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
