"""The recursive lookup: passed on from member to member, answered by the owner, walked to when it is lost."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from chord.asking import Ring
from chord.driven import Emit, Respond, Send
from chord.effects import Call, call
from chord.errors import LookupFailed, PeerUnreachable, WrongCluster
from chord.kernel import Kernel
from chord.limits import MAX_FORWARDS
from chord.messages import Arrived, ConfirmOwner, Forward, NextHop, Noted, Ping, Pong, Reply, Request
from chord.round_trips import FLOOR_S, INITIAL_S
from chord.trace import LookupTrace
from tests.unit.chord.worlds import SPACE, World, boot, pointer

RING = [100, 300, 500, 800]


class Asker(Kernel):
    """A client whose trace rows are kept."""

    def __init__(self, cluster: str = "ringcast") -> None:
        super().__init__(cluster, "client", random.Random(7))
        self.rows: list[LookupTrace] = []

    def take(self):
        outputs = super().take()
        self.rows += [output.row for output in outputs if isinstance(output, Emit)]
        return outputs


@pytest.fixture
def asker(world) -> Asker:
    kernel = Asker()
    world.add(kernel)
    return kernel


def ring(asker: Kernel, *via: int, **keywords) -> Ring:
    return Ring(asker, [f"n{each}:1" for each in via], SPACE, answer_at="client", **keywords)


def bodies(world: World, kind: type) -> list:
    """Who sent such a message to whom, from when the ring was there on."""
    return [(sender, receiver) for sender, receiver, message in world.sent if type(message.body) is kind]


def started(kernel: Kernel, token: int = 77) -> list:
    """A lookup under way under a token; the list gets its answer or error."""
    outcome: list = []

    def operation():
        return (yield Call(pointer(300), Forward(250, "client", token), token=token))

    kernel.start(operation(), lambda result, error: outcome.append(error or result))
    return outcome


def arrives(kernel: Kernel, arrived: Arrived, now: float, call_id: int = 0) -> list:
    return kernel.on_message("route", Request(1, "ringcast", call_id, arrived), now)


# The way -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [0, 99, 100, 101, 299, 300, 301, 799, 800, 801, 1023])
@pytest.mark.parametrize("via", RING)
def test_the_owner_answers_whoever_is_asked(world, asker, key, via):
    """The answer is the same as the iterative one: owner, path, and the owners that the predecessor named."""
    boot(world, RING)
    iterative = world.finish(asker, Ring(asker, [f"n{via}:1"], SPACE).locate(f"k{key}"))

    walk = world.finish(asker, ring(asker, via).locate(f"k{key}"))

    assert (walk.owner, walk.path, walk.owners) == (iterative.owner, iterative.path, iterative.owners)
    assert walk.timeouts == 0


def test_messages_go_from_member_to_member_and_once_to_the_asker(world, asker):
    """Nobody on the way answers or is waited for."""
    boot(world, RING)
    world.sent.clear()

    walk = world.finish(asker, ring(asker, 500).locate("k250"))

    way = ["client", *(member.address for member in walk.path), "n300:1"]
    assert bodies(world, Forward) == list(pairwise(way))
    assert bodies(world, Arrived) == [("n300:1", "client")]
    assert bodies(world, NextHop) == bodies(world, ConfirmOwner) == []


def test_the_row_tells_the_path_and_the_time_of_the_whole(world, asker):
    """Nobody knows when each member was reached: the last exchange, of the owner, holds the time of all."""
    boot(world, RING)

    walk = world.finish(asker, ring(asker, 500).locate("k250"))

    (row,) = asker.rows
    assert (row.mode, row.outcome, row.hops, row.timeouts, row.owner) == ("recursive", "ok", walk.hops, 0, 300)
    assert [hop.node for hop in row.hop_list] == [*(member.id for member in walk.path), 300]
    assert [hop.rtt_us for hop in row.hop_list] == [0] * len(walk.path) + [row.duration_us]
    assert row.duration_us == pytest.approx(1_000 * (len(walk.path) + 2), abs=2)


def test_puts_and_gets_find_their_owner_recursively(world, asker):
    """Whatever is done at the owner, it is found in the mode of the ring."""
    boot(world, RING)
    world.sent.clear()

    world.finish(asker, ring(asker, 300).put("k250", "e", b"v", 60.0))
    (entry,) = world.finish(asker, ring(asker, 800).get("k250"))

    assert entry.value == b"v"
    assert bodies(world, NextHop) == []


def test_an_owner_found_recursively_is_cached_with_its_arc(world, asker):
    """The predecessor that named it tells where the arc begins, as iteratively."""
    boot(world, RING)
    cached = ring(asker, 800, cache=True)
    world.finish(asker, cached.locate("k250"))
    world.sent.clear()

    world.finish(asker, cached.locate("k101"))

    assert bodies(world, Forward) == []
    assert [row.mode for row in asker.rows] == ["recursive", "cached"]


def test_a_member_asks_recursively_through_itself(world):
    """A ring node is reached at its own address; what it sends itself takes no network."""
    hosts = boot(world, RING)
    kernel = hosts[0].kernel
    world.sent.clear()

    walk = world.finish(kernel, Ring(kernel, ["n100:1"], SPACE, answer_at="n100:1").locate("k250"))

    assert walk.owner == hosts[1].members[0].me
    assert bodies(world, Arrived) == [("n300:1", "n100:1")]


# Those on the way --------------------------------------------------------------------------------------------------


def cast_to(world: World, host, lookup: Forward) -> list[tuple[str, Request]]:
    """What a member sends on when a lookup is cast to it."""
    kernel = host.kernel
    outputs = kernel.on_message("route", Request(1, "ringcast", 0, lookup), world.now)
    return [(output.address, output.message.body) for output in outputs if isinstance(output, Send)]


def test_a_suspected_candidate_is_passed_over(world):
    """A member that timed out twice in a row at a forwarder is not what it passes a lookup on to."""
    hosts = boot(world, RING)
    kernel = hosts[1].kernel
    peer = kernel.round_trips.peer("n800:1")
    peer.timed_out(world.now)
    peer.timed_out(world.now)

    ((address, lookup),) = cast_to(world, hosts[1], Forward(90, "client", 5))

    assert address == "n500:1"
    assert lookup.path == (hosts[1].members[0].me,)
    assert lookup.owners == ()


def test_a_suspected_owner_is_passed_over_for_its_successor(world):
    """The owner is silent: the next one is asked whether it owns the key by now."""
    hosts = boot(world, RING)
    peer = hosts[1].kernel.round_trips.peer("n500:1")
    peer.timed_out(world.now)
    peer.timed_out(world.now)

    ((address, lookup),) = cast_to(world, hosts[1], Forward(450, "client", 5))

    assert address == "n800:1"
    assert [owner.id for owner in lookup.owners[:2]] == [500, 800]


def test_a_member_that_sees_no_way_on_says_so(world):
    """With every candidate suspected the asker is told at once, and need not wait."""
    hosts = boot(world, RING)
    for address in ("n100:1", "n500:1", "n800:1"):
        peer = hosts[1].kernel.round_trips.peer(address)
        peer.timed_out(world.now)
        peer.timed_out(world.now)

    ((address, body),) = cast_to(world, hosts[1], Forward(90, "client", 5))

    assert (address, body.token, body.owner) == ("client", 5, None)


def test_an_owner_no_more_passes_on_to_its_predecessor(world):
    """The predecessor's list was outdated: a nearer member has joined, and answers."""
    hosts = boot(world, RING)
    before, denying = hosts[0].members[0].me, hosts[2].members[0].me

    ((address, lookup),) = cast_to(world, hosts[2], Forward(250, "client", 5, (before,), (denying,)))

    assert (address, lookup.denied) == ("n300:1", (denying,))
    ((address, body),) = cast_to(world, hosts[1], lookup)
    assert (address, body) == (
        "client",
        Arrived(5, hosts[1].members[0].me, (before,), (denying,), (denying,)),
    )


def test_an_owner_that_was_passed_over_is_not_passed_on_to(world):
    """Whoever named both suspects the predecessor: the asker is told at once, and need not wait for the dead."""
    hosts = boot(world, RING)
    before, passed_over, denying = (hosts[number].members[0].me for number in range(3))

    ((address, body),) = cast_to(world, hosts[2], Forward(250, "client", 5, (before,), (passed_over, denying)))

    assert (address, body.owner) == ("client", None)


def test_a_denial_that_leads_away_from_the_key_ends_the_lookup(world):
    """Who is sent a lookup that somebody nearer has denied says that there is no way on."""
    hosts = boot(world, RING)

    ((address, body),) = cast_to(
        world, hosts[2], Forward(150, "client", 5, (pointer(100),), (pointer(200),), (pointer(200),))
    )

    assert (address, body.owner) == ("client", None)


def test_a_lookup_that_came_no_nearer_is_dropped(world):
    """A forwarder must be nearer to the key than the one before it, so none is sent in circles."""
    hosts = boot(world, RING)

    assert cast_to(world, hosts[0], Forward(250, "client", 5, (pointer(200),))) == []


def test_a_path_of_the_greatest_length_ends(world):
    """However large the ring, a lookup is passed on so often and no oftener."""
    hosts = boot(world, RING)
    path = tuple(pointer(each) for each in range(400, 400 + MAX_FORWARDS - 1))

    ((address, body),) = cast_to(world, hosts[2], Forward(90, "client", 5, path))

    assert (address, body.owner, len(body.path)) == ("client", None, MAX_FORWARDS)


# What is lost ------------------------------------------------------------------------------------------------------


def lose(world: World, *kinds: type) -> None:
    world.lost = lambda _sender, _receiver, message: type(message.body) in kinds


@pytest.mark.parametrize("kind", [Forward, Arrived])
def test_a_lookup_lost_on_the_way_is_walked_to(world, asker, kind):
    """After the time-out the owner is found iteratively, and the row counts the one time-out."""
    hosts = boot(world, RING)
    lose(world, kind)

    walk = world.finish(asker, ring(asker, 800).locate("k250"))

    assert walk.owner == hosts[1].members[0].me
    (row,) = asker.rows
    assert (row.mode, row.outcome, row.timeouts) == ("recursive", "ok", 1)
    assert row.hop_list[0].timed_out and row.hop_list[0].address == "n800:1"
    assert row.duration_us >= INITIAL_S * 1e6


def test_another_contact_is_walked_from_first(world, asker):
    """The contact may be what is dead: the walk after a lost lookup begins elsewhere."""
    boot(world, RING)
    world.crash("n800:1")

    walk = world.finish(asker, ring(asker, 800, 500).locate("k250"))

    assert walk.path[0].address == "n500:1"
    assert walk.timeouts <= 1


def test_a_suspected_contact_is_not_asked(world, asker):
    """Of several contacts the first that is not suspected is asked."""
    boot(world, RING)
    asker.now = world.now
    peer = asker.round_trips.peer("n800:1")
    peer.timed_out(world.now)
    peer.timed_out(world.now)

    walk = world.finish(asker, ring(asker, 800, 500).locate("k250"))

    assert walk.path[0].address == "n500:1"


def test_no_way_on_is_asked_anew_at_once(world, asker):
    """An answer without an owner costs its time and no time-out."""
    boot(world, RING)
    world.lost = lambda _from, _to, message: type(message.body) is Forward and _instead(world, message)
    began = world.now

    walk = world.finish(asker, ring(asker, 800).locate("k250"))

    assert walk.owner is not None and walk.timeouts == 0
    assert world.now - began < FLOOR_S


def _instead(world: World, message: Request) -> bool:
    """Lose a lookup, and have its asker told something else."""
    told = Arrived(message.body.token, None)
    world._send("n800:1", "client", Request(1, "ringcast", 0, told))
    return True


def test_a_ring_of_another_cluster_says_so(world):
    """A cast to it is lost; the walk is told."""
    boot(world, [100])
    kernel = Asker("other")
    world.add(kernel)

    with pytest.raises(WrongCluster, match="belongs to cluster 'ringcast'"):
        world.finish(kernel, ring(kernel, 100).locate("a"))


def test_a_ring_that_is_gone_fails_the_lookup(world, asker):
    """Recursively and iteratively, for as long as the patience lasts."""
    with pytest.raises(LookupFailed, match="no ring node answered"):
        world.finish(asker, ring(asker, 100, patience_s=1.0).locate("k5"))

    assert {row.mode for row in asker.rows} == {"recursive"}


# The kernel --------------------------------------------------------------------------------------------------------


def test_an_answer_resumes_the_lookup_of_its_token(asker):
    """Whoever casts it; the time that it took is remembered for lookups, not for the peer that was asked."""
    asker.now = 100.0
    outcome = started(asker)
    (send,) = asker.take()
    assert (send.message.call, send.answered_elsewhere) == (0, True)

    arrives(asker, Arrived(76, pointer(1)), 100.1)
    assert outcome == []
    arrives(asker, Arrived(77, pointer(300)), 100.2)

    assert outcome == [Arrived(77, pointer(300))]
    assert asker.round_trips.lookups.mean_s == pytest.approx(0.2)
    assert asker.round_trips.peer("n300:1").mean_s == 0.0


def test_the_timeout_comes_from_earlier_lookups(asker):
    """A lookup that always takes two seconds is waited for, and one that took long comes late without harm."""
    asker.now = 100.0
    outcome = started(asker)
    assert asker.deadline() == pytest.approx(100.0 + INITIAL_S)
    asker.on_timer(100.0 + INITIAL_S)
    assert isinstance(outcome[0], PeerUnreachable)

    arrives(asker, Arrived(77, pointer(300)), 101.0)
    assert asker.round_trips.lookups.mean_s == pytest.approx(1.0)
    asker.now = 200.0
    started(asker, 78)
    assert asker.deadline() == pytest.approx(202.0)


def test_an_answer_under_the_number_of_a_call_ends_no_call(asker):
    """Only the peer that was called answers a call, however well somebody guesses."""
    asker.now = 100.0
    outcome: list = []
    asker.start(call(pointer(300), Ping(), Pong), lambda result, error: outcome.append(error or result))
    (send,) = asker.take()

    arrives(asker, Arrived(send.message.call, pointer(666)), 100.1)
    assert outcome == []
    asker.on_message(None, Reply(1, send.message.call, Pong()), 100.2)
    assert outcome == [Pong()]


def test_a_late_call_is_not_measured_by_an_answer_to_lookups(asker):
    """Its number proves nothing about the peer that was called."""
    asker.now = 100.0
    asker.start(call(pointer(300), Ping(), Pong))
    (send,) = asker.take()
    asker.on_timer(101.0)

    arrives(asker, Arrived(send.message.call, pointer(666)), 101.5)

    assert asker.round_trips.peer("n300:1").mean_s == 0.0
    assert asker.round_trips.lookups.mean_s == 0.0


def test_whoever_waits_for_it_is_told_that_an_answer_was_taken(asker):
    """A REQ socket that sends one is not left waiting, whether anybody wanted the answer or not."""
    assert arrives(asker, Arrived(5, None), 100.0, call_id=9) == [Respond("route", Reply(1, 9, Noted()))]


def test_a_lookup_sent_by_a_req_socket_has_its_answer_elsewhere(world):
    """The member that is asked answers the address in the lookup, and nothing on the spot."""
    hosts = boot(world, RING)
    kernel = hosts[1].kernel

    outputs = kernel.on_message("route", Request(1, "ringcast", 4, Forward(250, "client", 5)), world.now)

    assert [type(output) for output in outputs] == [Send]


def test_the_errors_of_a_member_reach_whoever_called_it(world):
    """A member that is joining refuses a lookup as it refuses anything else."""
    hosts = boot(world, [100])
    hosts[0].members[0].active = False

    outputs = hosts[0].kernel.on_message("route", Request(1, "ringcast", 4, Forward(250, "client", 5)), world.now)

    assert [output.message.body.kind for output in outputs] == ["Busy"]


# What could not be sent --------------------------------------------------------------------------------------------


def test_a_forwarder_whose_connection_broke_tells_the_asker(world):
    """The lookup is lost, and its asker need not wait; the next one goes another way."""
    hosts = boot(world, RING)
    kernel = hosts[1].kernel
    (send,) = kernel.on_message("route", Request(1, "ringcast", 0, Forward(90, "client", 5)), world.now)
    assert send.address == "n800:1"

    (told,) = kernel.on_unsent(send, world.now)

    assert told.address == "client"
    assert told.message.body == Arrived(5, None, send.message.body.path)
    assert cast_to(world, hosts[1], Forward(90, "client", 6))[0][0] == "n500:1"


def test_a_call_that_was_not_sent_ends_at_once(asker):
    """And only that one; the peer is suspected until it answers or the suspicion is old."""
    asker.now = 100.0
    outcome: list = []
    for _ in range(2):
        asker.start(call(pointer(300), Ping(), Pong), lambda result, error: outcome.append(error or result))
    first, second = asker.take()

    assert asker.on_unsent(first, 100.1) == []

    assert [str(each) for each in outcome] == ["the connection to n300:1 is broken"]
    assert asker.round_trips.suspected("n300:1", 100.1)
    asker.on_message(None, Reply(1, second.message.call, Pong()), 100.2)
    assert outcome[1] == Pong()
    assert not asker.round_trips.suspected("n300:1", 100.2)
