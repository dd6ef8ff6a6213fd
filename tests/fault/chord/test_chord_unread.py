"""Who asks on and on, and reads no answer, costs a node some megabytes, and nobody else anything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import zmq

from broker.local_ring import LocalRing, Node
from chord import unread, wire
from chord.client import RingClient
from chord.limits import MAX_UNREAD_BYTES
from chord.messages import CompareArc, FetchArc, Get, GetNeighbours, Put, Request
from chord.sockets import bind, make_context, make_socket
from chord.unread import Unread
from tests.waiting import eventually

PAGE = bytes(512 * 1024)
REQUESTS = 400
GROWTH_KB = (MAX_UNREAD_BYTES >> 10) + 16 * 1024


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    """A ring of one whose pages are as large as they may be."""
    with LocalRing() as ring:
        ring.grow(1)
        with RingClient([ring.nodes[0].address]) as client:
            for number in range(40):
                client.put("full", f"{number:02d}", bytes(16 * 1024), 600.0)
        yield ring.nodes[0]


@pytest.fixture
def context() -> Iterator[zmq.Context]:
    context = make_context()
    yield context
    context.destroy(linger=0)


def resident_kb(node: Node) -> int:
    status = Path(f"/proc/{node.process.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


def deaf(context: zmq.Context, address: str) -> zmq.Socket:
    """A peer that takes one reply, what the system keeps for it, and no more."""
    dealer = context.socket(zmq.DEALER)
    dealer.set(zmq.SNDHWM, 0)
    dealer.set(zmq.RCVHWM, 1)
    dealer.set(zmq.RCVBUF, 4096)
    dealer.connect(f"tcp://{address}")
    return dealer


ENDLESS = {
    "arcs": wire.encode(Request(1, "ringcast", 1, FetchArc(0, 0))),
    "records": wire.encode(Request(1, "ringcast", 1, Get("full"))),
    "neighbours": wire.encode(Request(1, "ringcast", 1, GetNeighbours())),
    "comparisons": wire.encode(Request(1, "ringcast", 1, CompareArc(1, 0, 7))),
    "garbage": b"\xc1" * 1000,
}


@pytest.mark.parametrize("asked", ENDLESS)
def test_answers_that_nobody_reads_do_not_pile_up(node, context, asked):
    """Hundreds of requests, up to 200 MB of replies: the node holds its limit of them, and answers others."""
    before_kb = resident_kb(node)
    with deaf(context, node.address) as dealer, RingClient([node.address]) as client:
        for _ in range(REQUESTS):
            dealer.send(ENDLESS[asked])
        dealer.send(wire.encode(Request(1, "ringcast", 1, Put("last", asked, b"", 600.0))))
        assert len(client.get("full")) == 40
        eventually(lambda: asked in [entry.entry for entry in client.get("last")], 60.0, "the last request to be met")
        assert resident_kb(node) - before_kb <= GROWTH_KB
    assert node.process.poll() is None
    assert node.errors.read_text() == ""


@pytest.mark.parametrize(("each", "together"), [(4 << 20, 64 << 20), (64 << 20, 8 << 20)])
def test_large_replies_are_dropped_until_some_are_read(context, monkeypatch, each, together):
    """Not beyond the limit of a peer or of all; whoever reads at last, or goes, gets or leaves room for more."""
    monkeypatch.setattr(unread, "MAX_UNREAD_BYTES", each)
    monkeypatch.setattr(unread, "MAX_UNREADS_BYTES", together)
    router = make_socket(context, zmq.ROUTER)
    address = f"127.0.0.1:{bind(router, '127.0.0.1', 0)}"
    dealer = deaf(context, address)
    dealer.send(b"hello")
    assert router.poll(20_000)
    route = router.recv_multipart()[:1]
    replies = Unread()

    for _ in range(100):
        replies.send(router, route, PAGE)
    assert replies.size <= 4 << 20
    received = 0
    while dealer.poll(1_000):
        assert dealer.recv() == PAGE
        received += 1
    assert 8 <= received < 100

    replies.send(router, route, PAGE)
    assert dealer.poll(20_000)
    assert dealer.recv() == PAGE

    for _ in range(100):
        replies.send(router, route, PAGE)
    dealer.close(linger=0)
    with deaf(context, address) as other:
        other.send(b"hello")
        assert router.poll(20_000)
        another = router.recv_multipart()[:1]

        def delivered() -> bool:
            replies.send(router, another, PAGE)
            return bool(other.poll(20))

        eventually(delivered, 20.0, "room for another peer")
    router.close(linger=0)


def test_those_who_do_not_read_leave_room_for_one_who_does(context, monkeypatch):
    """Three that ask on and on fill what there is for such; a page for a fourth, and the next, is still sent."""
    monkeypatch.setattr(unread, "MAX_UNREAD_BYTES", 8 << 20)
    monkeypatch.setattr(unread, "MAX_UNREADS_BYTES", 16 << 20)
    router = make_socket(context, zmq.ROUTER)
    address = f"127.0.0.1:{bind(router, '127.0.0.1', 0)}"
    replies = Unread()

    def route_of(dealer: zmq.Socket) -> list[bytes]:
        dealer.send(b"hello")
        assert router.poll(20_000)
        return router.recv_multipart()[:1]

    with deaf(context, address) as one, deaf(context, address) as two, deaf(context, address) as three:
        routes = [route_of(dealer) for dealer in (one, two, three)]
        for _ in range(30):
            for route in routes * 30:
                replies.send(router, route, PAGE)
            assert not router.poll(10)  # the system takes what it has room for
        with deaf(context, address) as reader:
            route = route_of(reader)
            for _ in range(5):
                replies.send(router, route, PAGE)
                assert reader.poll(20_000)
                assert reader.recv() == PAGE
    assert replies.size <= 16 << 20
    router.close(linger=0)
