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
    Put,
    Stored,
)
from tests.unit.chord.stored import LEASE_S, held, put
from tests.unit.chord.worlds import boot, client


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
