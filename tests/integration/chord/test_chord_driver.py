"""The ZeroMQ driver against peers that answer late, twice, with rubbish, or not at all."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

import pytest
import zmq

from chord import backlog, connections, wire, zmq_driver
from chord.effects import Call, call, cast
from chord.errors import PeerUnreachable
from chord.kernel import Kernel
from chord.limits import PROTOCOL_VERSION
from chord.messages import (
    ConfirmOwner,
    Copy,
    Entry,
    Forward,
    Get,
    Hop,
    NextHop,
    Nudge,
    Owned,
    Page,
    Ping,
    Pointer,
    Pong,
    Reply,
)
from chord.round_trips import FLOOR_S
from chord.sockets import bind, make_context, make_socket
from chord.zmq_driver import ZmqDriver
from tests.waiting import eventually

DEADLINE_S = 20.0


class Asking:
    """A driver and the servers that it asks, all turned by one thread."""

    def __init__(self) -> None:
        self.context = make_context()
        self.kernel = Kernel("ringcast", "asker", random.Random(1))
        self.driver = ZmqDriver(self.context, self.kernel)
        self.routers: list[zmq.Socket] = []

    def server(self, answers) -> Pointer:
        """A server that answers a request with the frames that `answers(call)` returns."""
        router = make_socket(self.context, zmq.ROUTER)
        port = bind(router, "127.0.0.1", 0)

        def readable() -> None:
            route, frame = router.recv_multipart()
            for body in answers(wire.decode_request(frame).call):
                router.send_multipart([route, body])

        self.driver.watch(router, readable)
        self.routers.append(router)
        return Pointer(1, f"127.0.0.1:{port}", 1)

    def break_off(self, peer: Pointer) -> None:
        """The server started last is gone, and the driver's connection to it is broken."""
        router = self.routers.pop()
        self.driver.unwatch(router)
        router.close(linger=0)
        socket = self.driver._connections.by_address[peer.address].socket
        eventually(lambda: not socket.getsockopt(zmq.EVENTS) & zmq.POLLOUT, DEADLINE_S, "the connection to break")

    def ask(self, to: Pointer):
        """One call, and what it ended with."""
        outcome: list = []
        self.driver.start(call(to, Ping(), Pong), lambda reply, error: outcome.append(error or reply))
        deadline = time.monotonic() + DEADLINE_S
        self.driver.run(lambda: bool(outcome) or time.monotonic() > deadline)
        return outcome[0]


@pytest.fixture
def asking() -> Iterator[Asking]:
    asking = Asking()
    yield asking
    asking.driver.close()
    asking.context.destroy(linger=0)


def pong(call_id: int) -> bytes:
    return wire.encode(Reply(PROTOCOL_VERSION, call_id, Pong()))


def test_a_reply_that_nobody_waits_for_does_not_hide_the_next_one(asking):
    """A peer that answers each request twice costs nothing: every call gets its own reply."""
    twice = asking.server(lambda call_id: [pong(call_id), pong(call_id)])

    assert [asking.ask(twice) for _ in range(5)] == [Pong()] * 5


def test_replies_to_calls_given_up_do_not_hide_the_next_one(asking):
    """A peer that sends, with one reply, all that it owed before: the calls after that get theirs."""
    owed: list[bytes] = []

    def late(call_id: int) -> list[bytes]:
        owed.append(pong(call_id))
        if len(owed) < 4:
            return []
        sent, owed[:] = list(owed), owed[:3]
        return sent

    slow = asking.server(late)

    assert all(isinstance(asking.ask(slow), PeerUnreachable) for _ in range(3))
    assert [asking.ask(slow) for _ in range(4)] == [Pong()] * 4


def test_rubbish_before_a_reply_is_passed_over(asking):
    """Frames that are no reply, before the one that is, are dropped; the call gets its reply."""
    rubbish = asking.server(lambda call_id: [b"", b"\xc1", b"\xff" * 100, pong(call_id)])

    assert [asking.ask(rubbish) for _ in range(3)] == [Pong()] * 3


def test_a_peer_beyond_the_limit_of_sockets_is_still_asked(asking, monkeypatch):
    """With more peers than sockets allowed, the least recently used socket is closed and opened again when needed."""
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 3)
    peers = [asking.server(lambda call_id: [pong(call_id)]) for _ in range(8)]

    assert [asking.ask(peer) for peer in peers * 3] == [Pong()] * 24


def test_a_socket_closed_while_its_reply_is_ready_is_no_error(asking, monkeypatch):
    """Calls to more peers than sockets allowed, all at once: some time out, and nothing worse."""
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 2)
    peers = [asking.server(lambda call_id: [pong(call_id)]) for _ in range(8)]
    outcomes: list = []

    def again(to: Pointer):
        for _ in range(5):
            try:
                yield from call(to, Ping(), Pong)
            except PeerUnreachable:
                continue
        return "done"

    for peer in peers:
        asking.driver.start(again(peer), lambda result, error: outcomes.append(error or result))
    deadline = time.monotonic() + DEADLINE_S
    asking.driver.run(lambda: len(outcomes) == 8 or time.monotonic() > deadline)

    assert outcomes == ["done"] * 8


@pytest.mark.parametrize(
    "address",
    ["nowhere.invalid:1", "127.0.0.1:0", "a b:5", "", ":5", "127.0.0.1:99999", "tcp://127.0.0.1:5", "\0:5", "é:5"],
)
def test_an_address_that_leads_nowhere_only_times_out(asking, address):
    """An address from the network that cannot be connected to ends its own call, with PeerUnreachable."""
    assert isinstance(asking.ask(Pointer(1, address, 1)), PeerUnreachable)


def test_an_idle_socket_goes_before_one_that_owes_a_reply(asking, monkeypatch):
    """With every socket allowed in use, the call that goes on is not the one to lose its peer."""
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 3)
    held: list[int] = []
    slow = asking.server(lambda call_id: held.append(call_id) or [])
    quick = [asking.server(lambda call_id: [pong(call_id)]) for _ in range(6)]
    asking.ask(quick[0])
    asking.driver.start(call(slow, Ping(), Pong))
    slow_peer = asking.driver._connections.by_address[slow.address]

    for peer in quick[1:]:
        asking.ask(peer)

    assert asking.driver._connections.by_address.get(slow.address) is slow_peer


def casting(asking, addresses: list[str]) -> None:
    """A burst of casts to many."""

    def burst():
        for address in addresses:
            yield from cast(address, Nudge())

    asking.driver.start(burst())


def test_a_burst_of_casts_takes_no_socket_from_a_call(asking, monkeypatch):
    """With a reply due from every peer, casts to others are dropped; the calls get their replies."""
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 3)
    answering = False
    held: list[int] = []

    def later(call_id: int) -> list[bytes]:
        held.append(call_id)
        return [pong(call_id)] if answering else []

    slow = [asking.server(later) for _ in range(3)]
    outcomes: list = []
    for peer in slow:
        asking.driver.start(call(peer, Ping(), Pong, attempts=4), lambda reply, error: outcomes.append(error or reply))
    before = dict(asking.driver._connections.by_address)

    casting(asking, [f"127.0.0.1:{port}" for port in range(1, 20)])
    assert asking.driver._connections.by_address == before
    answering = True
    deadline = time.monotonic() + DEADLINE_S
    asking.driver.run(lambda: len(outcomes) == 3 or time.monotonic() > deadline)

    assert outcomes == [Pong()] * 3
    assert asking.driver._connections.by_address == before


def test_a_cast_that_waits_for_a_connection_gives_way(asking, monkeypatch):
    """A peer that cannot be reached, and that only a cast waits for, makes room before one that owes a reply."""
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 2)
    slow = asking.server(lambda _call_id: [])
    quick = asking.server(lambda call_id: [pong(call_id)])
    asking.driver.start(call(slow, Ping(), Pong))
    casting(asking, ["127.0.0.1:1"])

    assert asking.ask(quick) == Pong()
    assert set(asking.driver._connections.by_address) == {slow.address, quick.address}


@pytest.mark.parametrize(("per_peer", "together"), [(20_000, 2_000_000), (2_000_000, 100_000)])
def test_what_waits_for_peers_that_are_not_there_is_bounded_in_bytes(asking, monkeypatch, per_peer, together):
    """Copies for three of them: no more is kept than the limit of each or half that of all, and nothing when closed."""
    monkeypatch.setattr(backlog, "MAX_BACKLOG_BYTES", per_peer)
    monkeypatch.setattr(backlog, "MAX_BACKLOGS_BYTES", together)
    copy = Copy((Entry("k", "e", 1, bytes(8_000), 60.0),))

    def burst():
        for number in range(30):
            yield from cast(f"127.0.0.1:{1 + number % 3}", copy)

    asking.driver.start(burst())
    kept = asking.driver._connections.waiting.size
    asking.driver.close()

    assert 40_000 < kept <= 50_000
    assert asking.driver._connections.waiting.size == 0


def test_nobody_answers_for_another_peer(asking):
    """A reply with the number of a call to somebody else is no answer to it."""
    silent = asking.server(lambda _call_id: [])
    forger = asking.server(lambda call_id: [pong(call_id - 1), pong(call_id)])
    outcome: list = []
    asking.driver.start(call(silent, Ping(), Pong), lambda reply, error: outcome.append(error or reply))

    assert isinstance(asking.ask(forger), Pong)
    deadline = time.monotonic() + DEADLINE_S
    asking.driver.run(lambda: bool(outcome) or time.monotonic() > deadline)

    assert isinstance(outcome[0], PeerUnreachable)


def test_sockets_to_the_dead_are_closed_while_all_others_answer_at_once(asking, monkeypatch):
    """A process whose calls are all answered before their time-outs still gives up on those that never were."""
    monkeypatch.setattr(zmq_driver, "SWEEP_S", 1.0)
    monkeypatch.setattr(connections, "FORGET_REPLIES_S", 1.0)
    quick = asking.server(lambda call: [wire.encode(Reply(PROTOCOL_VERSION, call, Pong()))])
    with pytest.raises(PeerUnreachable):
        raise asking.ask(Pointer(2, "127.0.0.1:9", 1))
    assert "127.0.0.1:9" in asking.driver._connections.by_address

    eventually(
        lambda: isinstance(asking.ask(quick), Pong) and "127.0.0.1:9" not in asking.driver._connections.by_address,
        DEADLINE_S,
    )


@pytest.mark.parametrize("was_there", [False, True], ids=["never there", "gone"])
def test_a_socket_that_only_casts_went_to_is_closed_when_nobody_is_there(asking, monkeypatch, was_there):
    """Whoever names an address to be cast at has nobody connect to it for ever; sockets that are connected stay."""
    monkeypatch.setattr(zmq_driver, "SWEEP_S", 0.2)
    monkeypatch.setattr(connections, "FORGET_REPLIES_S", 0.2)
    monkeypatch.setattr(connections, "UNREACHABLE_S", 0.5)
    quick = asking.server(lambda call_id: [pong(call_id)])
    idle = asking.server(lambda call_id: [pong(call_id)])
    asking.ask(idle)
    nobody = Pointer(2, "127.0.0.1:9", 1)
    if was_there:
        nobody = asking.server(lambda call_id: [pong(call_id)])
        asking.ask(nobody)
        asking.break_off(nobody)
    casting(asking, [nobody.address])
    assert nobody.address in asking.driver._connections.by_address

    eventually(
        lambda: isinstance(asking.ask(quick), Pong) and nobody.address not in asking.driver._connections.by_address,
        DEADLINE_S,
        "the socket to be closed",
    )
    assert idle.address in asking.driver._connections.by_address


STEPS = [(NextHop(7), Hop), (ConfirmOwner(7), Owned), (Get("a"), Page)]


@pytest.mark.parametrize(("step", "answer"), STEPS, ids=[type(step).__name__ for step, _ in STEPS])
def test_a_step_of_a_lookup_does_not_wait_for_a_broken_connection(asking, step, answer):
    """It ends at once, before any time-out, and the peer is suspected by lookups from then on."""
    peer = asking.server(lambda call_id: [pong(call_id)])
    asking.ask(peer)
    asking.break_off(peer)
    outcome: list = []

    asking.driver.start(call(peer, step, answer), lambda reply, error: outcome.append(error or reply))

    assert isinstance(outcome[0], PeerUnreachable)
    assert str(outcome[0]) == f"the connection to {peer.address} is broken"
    assert asking.kernel.round_trips.suspected(peer.address, asking.kernel.now)


def test_whoever_keeps_the_ring_waits_for_a_broken_connection(asking):
    """A ping is sent when the connection is there again: a connection that broke is no proof of death."""
    peer = asking.server(lambda call_id: [pong(call_id)])
    asking.ask(peer)
    asking.break_off(peer)
    outcome: list = []

    asking.driver.start(call(peer, Ping(), Pong, attempts=8), lambda reply, error: outcome.append(error or reply))
    assert outcome == []
    again = make_socket(asking.context, zmq.ROUTER)
    eventually(lambda: bind(again, "127.0.0.1", int(peer.address.rpartition(":")[2])), DEADLINE_S)

    def readable() -> None:
        route, frame = again.recv_multipart()
        again.send_multipart([route, pong(wire.decode_request(frame).call)])

    asking.driver.watch(again, readable)
    deadline = time.monotonic() + DEADLINE_S
    asking.driver.run(lambda: bool(outcome) or time.monotonic() > deadline)

    assert outcome == [Pong()]


def test_a_first_connection_is_waited_for(asking):
    """Nobody has been reached there yet, so nothing broke: the step goes out when the connection is made."""
    peer = asking.server(lambda call_id: [wire.encode(Reply(PROTOCOL_VERSION, call_id, Owned(Pointer(1, "a:1", 1))))])
    outcome: list = []

    asking.driver.start(call(peer, ConfirmOwner(7), Owned), lambda reply, error: outcome.append(error or reply))
    deadline = time.monotonic() + DEADLINE_S
    asking.driver.run(lambda: bool(outcome) or time.monotonic() > deadline)

    assert outcome == [Owned(Pointer(1, "a:1", 1))]


def test_a_recursive_lookup_over_a_broken_connection_is_lost_at_once(asking):
    """Its asker, here the same process, is told that there is no way on."""
    peer = asking.server(lambda call_id: [pong(call_id)])
    asking.ask(peer)
    asking.break_off(peer)
    outcome: list = []

    def lookup():
        return (yield Call(peer, Forward(7, "asker", 5), token=5))

    asking.driver.start(lookup(), lambda arrived, error: outcome.append(error or arrived))

    assert outcome[0].owner is None
    assert asking.kernel.round_trips.lookups.mean_s < FLOOR_S


def test_a_connection_that_carries_nothing_is_not_kept_for_minutes(asking):
    """TCP doubles its pauses while a cable is out; a ring cut for a minute took half of another to be one again."""
    peer = asking.server(lambda call: [wire.encode(Reply(PROTOCOL_VERSION, call, Pong()))])
    asking.ask(peer)

    (connection,) = asking.driver._connections.by_address.values()

    assert 0 < connection.socket.getsockopt(zmq.TCP_MAXRT) <= 10_000
