"""A client with a cache asks an owner that it found lately, at once, and walks when that one is no owner any more."""

from __future__ import annotations

import random

import pytest

from chord.asking import RETRY_PAUSE_S, Ring
from chord.driven import Emit
from chord.errors import CopiesMissing, LookupFailed, NotMember, StaleVersion, WrongCluster
from chord.host import Host
from chord.kernel import Kernel
from chord.lookup import Walk
from chord.messages import ConfirmOwner, Get, Hop, NextHop, Owned, Page, Put, Request
from chord.owner_cache import LEASE_S, OwnerCache
from chord.trace import HopTrace, LookupTrace
from tests.unit.chord.worlds import SPACE, World, boot, host, pointer, scripted


class Client:
    """A kernel outside the ring, and the requests and trace rows that it leaves."""

    def __init__(self, world: World, via: list[str], cache: bool = True, patience_s: float = 5.0) -> None:
        self.world = world
        self.rows: list[LookupTrace] = []
        rows = self.rows

        class Noting(Kernel):
            def take(self):
                outputs = super().take()
                rows.extend(output.row for output in outputs if isinstance(output, Emit))
                return outputs

        self.kernel = Noting("ringcast", "client", random.Random(7))
        world.add(self.kernel)
        self.ring = Ring(self.kernel, via, SPACE, patience_s, cache)

    def ask(self, operation):
        return self.world.finish(self.kernel, operation)

    def asked(self, operation) -> list[tuple[str, type]]:
        """Whom an operation asks what."""
        before = len(self.world.sent)
        self.ask(operation)
        return [
            (receiver, type(message.body))
            for sender, receiver, message in self.world.sent[before:]
            if sender == "client" and isinstance(message, Request)
        ]


# The cache ---------------------------------------------------------------------------------------------------------


def walked(key: int, owner: int, predecessor: int | None, failed: int = 0) -> Walk:
    """A walk that ended at `owner`, named by `predecessor` or, if that is None, by the owner itself."""
    path = [pointer(owner if predecessor is None else predecessor)]
    hops = [HopTrace(0, "", 1, timed_out) for timed_out in [False, False] + [True] * failed]
    return Walk(key, path, hops, (pointer(owner),), pointer(owner))


def found(cache: OwnerCache, key: int, now: float = 0.0) -> int | None:
    owner = cache.find(key, now)
    return None if owner is None else owner.id


def test_the_arc_between_a_predecessor_and_the_owner_that_it_named_is_known():
    """Its first key lies after the predecessor, its last one is the owner's own; it may wrap around."""
    cache = OwnerCache(SPACE)
    cache.learn(walked(950, 100, 900), 0.0)
    cache.learn(walked(400, 500, 300), 0.0)

    assert [found(cache, key) for key in (900, 901, 1023, 0, 100, 101)] == [None, 100, 100, 100, 100, None]
    assert [found(cache, key) for key in (300, 301, 500, 501)] == [None, 500, 500, None]


def test_only_what_follows_the_key_is_known_when_the_owner_was_asked_first():
    """It does not say where its arc begins."""
    cache = OwnerCache(SPACE)
    cache.learn(walked(400, 500, None), 0.0)

    assert [found(cache, key) for key in (399, 400, 500)] == [None, 500, 500]


def test_only_what_follows_the_key_is_known_when_a_member_was_passed_over():
    """It was silent, but may live, and own what lies before the key."""
    cache = OwnerCache(SPACE)
    cache.learn(walked(400, 500, 300, failed=1), 0.0)

    assert [found(cache, key) for key in (399, 400)] == [None, 500]


def test_a_line_lasts_for_its_lease():
    """And not a moment longer; then there is nothing left of it."""
    cache = OwnerCache(SPACE)
    cache.learn(walked(400, 500, 300), 1.0)

    assert found(cache, 400, 1.0 + LEASE_S - 0.001) == 500
    assert found(cache, 400, 1.0 + LEASE_S) is None
    assert len(cache) == 0


def test_the_line_used_least_recently_goes_first():
    """When there is no room for one more."""
    cache = OwnerCache(SPACE, lines=2)
    cache.learn(walked(150, 200, 100), 0.0)
    cache.learn(walked(250, 300, 200), 0.0)
    assert found(cache, 150) == 200

    cache.learn(walked(350, 400, 300), 0.0)

    assert [found(cache, key) for key in (150, 250, 350)] == [200, None, 400]


def test_a_newer_incarnation_is_not_forgotten_for_the_older_one():
    """What an operation says of the member it asked concerns that one alone."""
    cache = OwnerCache(SPACE)
    cache.learn(walked(150, 200, 100), 0.0)

    cache.forget(pointer(200, incarnation=9))
    assert found(cache, 150) == 200
    cache.forget(pointer(200))
    assert found(cache, 150) is None


# Asking with it ----------------------------------------------------------------------------------------------------


def test_a_warm_lookup_is_one_round_trip_to_the_owner(world):
    """It answers with the owner and its successors, and leaves a row of its own mode without hops."""
    boot(world, [100, 300, 500, 800])
    client = Client(world, ["n100:1"])
    cold = client.ask(client.ring.locate("k450"))

    assert client.asked(client.ring.locate("k420")) == [("n500:1", NextHop)]

    warm = client.ask(client.ring.locate("k450"))
    assert warm.owner == cold.owner
    assert warm.owners[0] == cold.owner
    row = client.rows[-1]
    assert (row.mode, row.outcome, row.owner, row.hops, len(row.hop_list)) == ("cached", "ok", 500, 0, 1)
    assert row.duration_us == row.hop_list[0].rtt_us > 0
    assert row.owner_us == 0


def test_a_warm_put_and_a_warm_get_are_one_round_trip_each(world):
    """They are no lookups, so they leave no row."""
    boot(world, [100, 300, 500, 800])
    client = Client(world, ["n100:1"])
    client.ask(client.ring.put("k450", "e", b"1", 60.0))
    rows = len(client.rows)

    assert client.asked(client.ring.put("k450", "e", b"2", 60.0)) == [("n500:1", Put)]
    assert client.asked(client.ring.get("k450")) == [("n500:1", Get)]
    assert [entry.value for entry in client.ask(client.ring.get("k450"))] == [b"2"]
    assert len(client.rows) == rows


def test_without_a_cache_every_lookup_is_a_walk(world):
    """What measures walks, and `dht lookup`, goes on to do so."""
    boot(world, [100, 300, 500, 800])
    client = Client(world, ["n100:1"], cache=False)
    client.ask(client.ring.locate("k450"))

    assert client.asked(client.ring.locate("k450"))[-1] == ("n500:1", ConfirmOwner)
    assert {row.mode for row in client.rows} == {"iterative"}


def relieved(world: World) -> tuple[Client, Host]:
    """A client that knows 500 as the owner of a record, and the joiner that owns it by now."""
    boot(world, [100, 500, 800])
    client = Client(world, ["n100:1"])
    client.ask(client.ring.put("k450", "e", b"1", 60.0))
    joiner = host(world, 470)
    world.finish(joiner.kernel, joiner.boot(["n100:1"], 30.0))
    assert world.run(lambda: joiner.members[0].reach.complete, 5.0)
    return client, joiner


def test_an_owner_that_a_joiner_relieved_is_not_believed(world):
    """Neither for a lookup nor for a record; the row of the walk tells what the stale line cost."""
    client, joiner = relieved(world)

    walk = client.ask(client.ring.locate("k450"))

    assert walk.owner == joiner.members[0].me
    row = client.rows[-1]
    assert (row.mode, row.outcome, row.hop_list[0].address) == ("iterative", "ok", "n500:1")
    assert len(row.hop_list) == row.hops + 1 + 1 + 1
    assert client.asked(client.ring.get("k450")) == [("n470:1", Get)]


def test_a_record_of_a_relieved_owner_is_read_and_written_at_the_new_one(world):
    """NotOwner costs one round trip, then a walk."""
    client, _ = relieved(world)

    began = world.now
    asked = client.asked(client.ring.put("k450", "e", b"2", 60.0))

    assert world.now - began < RETRY_PAUSE_S / 2
    assert asked[0] == ("n500:1", Put)
    assert asked[-1] == ("n470:1", Put)
    assert [entry.value for entry in client.ask(client.ring.get("k450"))] == [b"2"]


def test_a_dead_owner_costs_one_time_out(world):
    """Then the line is gone, and the walk finds who took over."""
    boot(world, [100, 500, 800])
    client = Client(world, ["n100:1"])
    client.ask(client.ring.put("k450", "e", b"1", 60.0))
    world.crash("n500:1")
    world.run(at_most_s=5.0)

    asked = client.asked(client.ring.get("k450"))

    assert [one for one in asked if one[0] == "n500:1"] == [("n500:1", Get)]
    assert asked[-1] == ("n800:1", Get)
    assert client.asked(client.ring.get("k450")) == [("n800:1", Get)]


def test_an_owner_that_restarted_under_its_address_is_another_member(world):
    """NotMember, and a walk: it does not answer for the one it was."""
    boot(world, [100, 500, 800])
    client = Client(world, ["n100:1"])
    before = client.ask(client.ring.locate("k450")).owner
    world.crash("n500:1")
    again = host(world, 500, seed=1)
    world.finish(again.kernel, again.boot(["n100:1"], 30.0))

    walk = client.ask(client.ring.locate("k450"))

    assert walk.owner == again.members[0].me
    assert walk.owner != before
    assert walk.timeouts == 0


def scripted_owner(world: World, answer) -> list[Request]:
    """A ring of one scripted member, which answers lookups, and `answer(body)` to the rest."""
    owner = pointer(300)

    def reply(request: Request):
        if isinstance(request.body, NextHop):
            return Hop(owner, True, (owner,))
        if isinstance(request.body, ConfirmOwner):
            return Owned(owner)
        return answer(request.body)

    return scripted(world, "n300:1", reply)


def test_a_member_that_only_stands_in_is_no_owner_for_a_warm_lookup(world):
    """It passes ConfirmOwner while its predecessor is silent, but does not call itself the owner."""
    owner, other = pointer(300), pointer(200)
    owns = True

    def reply(request: Request):
        if isinstance(request.body, ConfirmOwner):
            return Owned(owner)
        return Hop(owner, True, (owner,)) if owns else Hop(owner, True, (other,))

    got = scripted(world, "n300:1", reply)
    scripted(world, "n200:1", lambda _request: Owned(other))
    client = Client(world, ["n300:1"])
    client.ask(client.ring.locate("k250"))
    owns = False
    got.clear()

    assert client.ask(client.ring.locate("k250")).owner == other


@pytest.mark.parametrize(
    ("error", "at_last"),
    [
        (CopiesMissing("held by 1 of 3 processes"), CopiesMissing),
        (NotMember("it was another one"), LookupFailed),
        (WrongCluster("another cluster"), LookupFailed),
    ],
)
def test_what_another_owner_may_do_better_is_asked_of_a_walk(world, error, at_last):
    """Whatever a cached owner fails at, its line is forgotten before the request is repeated."""
    failing = False
    got = scripted_owner(world, lambda _body: error if failing else Page((), False))
    client = Client(world, ["n300:1"], patience_s=1.0)
    client.ask(client.ring.get("k250"))
    failing = True
    got.clear()

    with pytest.raises(at_last):
        client.ask(client.ring.get("k250"))

    bodies = [type(request.body) for request in got]
    assert bodies[:3] == [Get, NextHop, Get]


def test_what_no_walk_can_mend_is_said_at_once(world):
    """The owner is the owner; its line stays."""
    failing = False
    got = scripted_owner(world, lambda _body: StaleVersion("version 1 is not newer") if failing else Page((), False))
    client = Client(world, ["n300:1"])
    client.ask(client.ring.get("k250"))
    failing = True
    got.clear()

    for _ in range(2):
        with pytest.raises(StaleVersion):
            client.ask(client.ring.put("k250", "e", b"", 5.0, version=1))

    assert [type(request.body) for request in got] == [Put, Put]
