"""One contract for whatever moves messages between kernels, kept by the simulated network and by ZeroMQ alike."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from chord import wire
from chord.asking import Ring
from chord.effects import call, cast, gather
from chord.errors import LocalProtocolError, NotMember, PeerUnreachable, RemoteProtocolError, WrongCluster
from chord.host import Host
from chord.limits import MAX_PAGE_BYTES, MAX_VALUE_BYTES, PROTOCOL_VERSION
from chord.messages import Failure, Get, Notify, Page, Ping, Pointer, Pong, Put, Request, Stored, contact
from chord.settings import Settings
from tests.contract.transports import SimulatedWorld, World, ZmqWorld, ask

LEASE_S = 600.0


@pytest.fixture(params=[SimulatedWorld, ZmqWorld], ids=["simulated", "zeromq"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    made: World = request.param()
    yield made
    made.close()


@pytest.fixture
def host(world: World) -> Host:
    return world.node(Settings())


def me(host: Host) -> Pointer:
    return host.members[0].me


def stored(world: World, host: Host, values: dict[str, bytes]) -> None:
    """One record for each value, with one entry."""
    kernel = world.asker()
    puts = [call(me(host), Put(name, "entry", value, LEASE_S), Stored) for name, value in values.items()]
    assert all(isinstance(outcome, Stored) for outcome in ask(world, kernel, gather(puts)))


def frame(body: object, call_id: int, cluster: str = "ringcast", version: int = PROTOCOL_VERSION) -> bytes:
    return wire.encode(Request(version, cluster, call_id, body))  # type: ignore[arg-type]  # of any version and body


def test_a_request_reaches_the_member_and_its_reply_returns(world, host):
    """A call to a member resumes with the reply to it."""
    assert ask(world, world.asker(), call(me(host), Ping(), Pong)) == Pong()


def test_a_process_is_reached_without_knowing_its_members(world, host):
    """A contact, an address alone, is answered by whichever member fits."""
    assert ask(world, world.asker(), call(contact(me(host).address), Ping(), Pong)) == Pong()


def test_a_cast_arrives_and_is_not_answered(world, host):
    """A request with call 0 is carried out, and the only reply is that to the call after it."""
    notifier = Pointer(me(host).id ^ 1, "127.0.0.1:9", 7)

    replies = world.raw(me(host).address, [frame(Notify(notifier), 0), frame(Ping(), 5)], replies=1)

    assert [wire.decode_reply(reply).call for reply in replies] == [5]
    assert host.members[0].state.predecessor == notifier


def test_an_operation_goes_on_after_a_cast(world, host):
    """A cast resumes its operation at once, whether or not anybody is there."""

    def operation():
        yield from cast(world.nobody, Ping())
        return (yield from call(me(host), Ping(), Pong))

    assert ask(world, world.asker(), operation()) == Pong()


def test_a_call_to_nobody_times_out(world):
    """A call to an address where nothing runs ends as PeerUnreachable, naming the address."""
    with pytest.raises(PeerUnreachable, match=f"no reply from {world.nobody} within") as raised:
        ask(world, world.asker(), call(contact(world.nobody), Ping(), Pong))

    assert not raised.value.definite


def test_a_former_incarnation_is_no_member(world, host):
    """A request for an incarnation that is gone is refused, so the asker knows for certain."""
    former = Pointer(me(host).id, me(host).address, me(host).incarnation + 1)

    with pytest.raises(NotMember, match=f"of incarnation {former.incarnation}"):
        ask(world, world.asker(), call(former, Ping(), Pong))


def test_another_cluster_is_refused(world, host):
    """A request that names another cluster is refused, with both names."""
    with pytest.raises(WrongCluster, match="belongs to cluster 'ringcast', the request to 'other'"):
        ask(world, world.asker("other"), call(contact(me(host).address), Ping(), Pong))


@pytest.mark.parametrize(
    ("sent", "call_id", "text"),
    [
        (b"\xc1 not MessagePack", 0, "unreadable request of 17 bytes"),
        (msgspec.msgpack.encode({"call": 9, "body": "what"}), 9, "unreadable request"),
        (frame(Ping(), 9, version=99), 9, "protocol version 99; this process has 1"),
    ],
    ids=["garbage", "shape", "version"],
)
def test_an_unreadable_frame_is_answered_with_a_failure(world, host, sent, call_id, text):
    """A frame that is no request is answered under its call id if it has one, and harms nobody after it."""
    bad, good = (wire.decode_reply(reply) for reply in world.raw(me(host).address, [sent, frame(Ping(), 1)], replies=2))

    assert isinstance(bad.body, Failure)
    assert (bad.call, bad.body.kind) == (call_id, "RemoteProtocolError")
    assert text in bad.body.text
    assert (good.call, good.body) == (1, Pong())


def test_a_late_reply_is_not_taken_for_the_next_call(world, host):
    """The reply to a call that timed out changes nothing, though the next call is to the same member for the same."""
    stored(world, host, {"first": b"1", "second": b"2"})
    kernel = world.asker()
    world.pause(host)
    with pytest.raises(PeerUnreachable):
        ask(world, kernel, call(me(host), Get("first"), Page))
    again = world.begin(kernel, call(me(host), Get("second"), Page, attempts=3))

    world.resume(host)
    world.until(lambda: again.done)

    assert [entry.value for entry in again.value().entries] == [b"2"]


def test_two_callers_are_served_at_once(world, host):
    """Many calls of two processes under way together each get the reply that is theirs."""
    values = {f"name-{number}": b"%d" % number for number in range(40)}
    stored(world, host, values)
    outcomes = [
        (value, world.begin(kernel, call(me(host), Get(name), Page)))
        for kernel in (world.asker(), world.asker())
        for name, value in values.items()
    ]

    world.until(lambda: all(outcome.done for _, outcome in outcomes))

    assert all([entry.value for entry in outcome.value().entries] == [value] for value, outcome in outcomes)


def test_a_long_record_arrives_in_pages(world, host):
    """A record larger than one page is read whole, and in order, by asking on."""
    kernel = world.asker()
    ring = Ring(kernel, [me(host).address])
    count = MAX_PAGE_BYTES // MAX_VALUE_BYTES + 2
    for number in range(count):
        ask(world, kernel, ring.put("long", f"{number:03d}", bytes([number]) * MAX_VALUE_BYTES, LEASE_S))

    first = ask(world, kernel, call(me(host), Get("long"), Page))
    entries = ask(world, kernel, ring.get("long"))

    assert first.more
    assert 0 < len(first.entries) < count
    assert [(entry.entry, entry.value[:1]) for entry in entries] == [
        (f"{number:03d}", bytes([number])) for number in range(count)
    ]


def test_the_largest_value_is_stored_and_a_larger_one_refused(world, host):
    """16 KiB is stored; one byte more is refused by the asker's own check, and by the member if that is gone round."""
    kernel = world.asker()
    ring = Ring(kernel, [me(host).address])
    ask(world, kernel, ring.put("large", "entry", b"v" * MAX_VALUE_BYTES, LEASE_S))
    too_large = b"v" * (MAX_VALUE_BYTES + 1)

    with pytest.raises(LocalProtocolError, match="has 16385 bytes; at most 16384 are allowed"):
        ask(world, kernel, ring.put("large", "entry", too_large, LEASE_S))
    with pytest.raises(RemoteProtocolError, match="unreadable request"):
        ask(world, kernel, call(me(host), Put("large", "entry", too_large, LEASE_S), Stored))

    (entry,) = ask(world, kernel, ring.get("large"))
    assert entry.value == b"v" * MAX_VALUE_BYTES
