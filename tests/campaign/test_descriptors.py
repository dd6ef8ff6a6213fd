"""Slow: no descriptor is lost in 50,000 calls and 1,000 time-outs. Run it by name: `pytest tests/campaign`."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

import pytest

from broker.local_ring import LocalRing, Node
from chord.client import RingClient
from chord.effects import call, gather
from chord.errors import PeerUnreachable
from chord.identifiers import IdentifierSpace, between_right
from chord.messages import NextHop, Ping, Pointer, Pong, Put, Stored, contact
from tests.integration.chord.rings import all_agree
from tests.waiting import eventually

CALLS = 50_000
TIMEOUTS = 1_000
AT_ONCE = 100
DEAD = 50


def descriptors(process: int) -> int:
    return len(list(Path(f"/proc/{process}/fd").iterdir()))


def dead_addresses(count: int) -> list[str]:
    """Ports that nobody listens on, as those who hold them do not accept."""
    held = [socket.socket() for _ in range(count)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    addresses = [f"127.0.0.1:{one.getsockname()[1]}" for one in held]
    for one in held:
        one.close()
    return addresses


@pytest.mark.timeout(600)
def test_a_client_keeps_no_descriptor_of_its_calls_and_timeouts():
    """50,000 calls of four nodes and 1,000 of dead addresses: as many are open as after the first call of each."""
    with LocalRing() as ring, RingClient(ring_of(ring, 4)) as client:
        dead = dead_addresses(DEAD)

        def ask_all() -> None:
            client.run(lambda _ring: gather([call(contact(each), Ping(), Pong) for each in ring.addresses()]))

        ask_all()
        before = descriptors(os.getpid())

        for _ in range(CALLS // (4 * AT_ONCE)):
            asked = [contact(each) for each in ring.addresses() for _ in range(AT_ONCE)]
            answers = client.run(lambda _ring, asked=asked: gather([call(each, Ping(), Pong, 4) for each in asked]))
            assert all(isinstance(answer, Pong) for answer in answers)
        assert descriptors(os.getpid()) <= before

        for _ in range(TIMEOUTS // DEAD):
            answers = client.run(lambda _ring: gather([call(contact(each), Ping(), Pong) for each in dead]))
            assert all(isinstance(answer, PeerUnreachable) for answer in answers)

        def as_before() -> bool:
            ask_all()
            return descriptors(os.getpid()) <= before

        eventually(as_before, 30.0, "the descriptors of the dead are closed")


@pytest.mark.timeout(600)
def test_a_node_keeps_no_descriptor_of_its_calls_and_timeouts():
    """50,000 lookups served, and 1,000 copies sent to replicas that stand still: as many are open as before."""
    with LocalRing() as ring, RingClient(ring_of(ring, 4)) as client:
        node = ring.nodes[0]
        me = next(view.member for view in client.members() if view.member.address == node.address)
        put_at(client, me, names_of(ring, node, 1))
        before = descriptors(node.process.pid)

        for number in range(CALLS // AT_ONCE):
            asked = [NextHop(number * AT_ONCE + step) for step in range(AT_ONCE)]
            client.run(lambda _ring, asked=asked: gather([call(me, each, object, 4) for each in asked]))
        assert descriptors(node.process.pid) <= before

        replicas = successors(ring, node)[:2]
        names = names_of(ring, node, TIMEOUTS // len(replicas))
        for replica in replicas:
            replica.process.send_signal(signal.SIGSTOP)
        try:
            put_at(client, me, names)
        finally:
            for replica in replicas:
                replica.process.send_signal(signal.SIGCONT)

        all_agree(ring)
        eventually(lambda: descriptors(node.process.pid) <= before, 30.0, "the descriptors are as many as before")


def ring_of(ring: LocalRing, count: int) -> list[str]:
    ring.grow(count)
    all_agree(ring)
    return ring.addresses()


def successors(ring: LocalRing, node: Node) -> list[Node]:
    in_order = sorted(ring.nodes, key=lambda one: one.identifier)
    place = in_order.index(node)
    return in_order[place + 1 :] + in_order[:place]


def names_of(ring: LocalRing, node: Node, count: int) -> list[str]:
    """Names that a node owns."""
    space = IdentifierSpace()
    before = successors(ring, node)[-1].identifier
    names = (f"name {number}" for number in range(100_000))
    owned = [name for name in names if between_right(before, space.key(name), node.identifier)]
    assert len(owned) >= count
    return owned[:count]


def put_at(client: RingClient, owner: Pointer, names: list[str]) -> None:
    """Put one entry under each name, all at once; whether it is acknowledged does not matter."""
    puts = [Put(name, "e", b"v", 600.0) for name in names]
    client.run(lambda _ring: gather([call(owner, put, Stored) for put in puts]))
