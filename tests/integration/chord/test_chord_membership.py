"""Nodes come and go, alone and together, politely and by kill -9; the ring is whole again soon."""

from __future__ import annotations

import signal
import time

import pytest

from broker.local_ring import LocalRing
from tests.integration.chord.rings import (
    agrees,
    all_agree,
    dht,
    member_id,
    owners_are_right,
    terminate,
    view_through,
)
from tests.waiting import eventually

NAMES = [f"name {number}" for number in range(50)]
AGREE_S = 10.0


def every_survivor_agrees(ring: LocalRing) -> None:
    """`dht ring --json` through every node shows just the living, all views fitting together."""
    expected = sorted(ring.addresses(), key=member_id)

    def through(address: str) -> bool:
        consistent, seen = view_through(address)
        start = seen.index(expected[0]) if expected[0] in seen else 0
        return consistent and seen[start:] + seen[:start] == expected

    deadline = time.monotonic() + AGREE_S
    for address in ring.addresses():
        left_s = max(2.0, deadline - time.monotonic())
        eventually(lambda address=address: through(address), left_s, f"ring by {address}")


@pytest.mark.parametrize("politely", [True, False], ids=["sigterm", "kill"])
def test_a_ring_grows_to_five_and_shrinks_to_one(ring, politely):
    """After each join and departure every survivor names just the living; SIGTERM ends a node with exit code 0."""
    while len(ring.nodes) < 5:
        ring.grow(1 if politely else 5)
        every_survivor_agrees(ring)
    while len(ring.nodes) > 1:
        leaver = ring.nodes[len(ring.nodes) // 2]
        if politely:
            assert terminate(ring, leaver) == 0
        else:
            ring.kill(leaver)
        every_survivor_agrees(ring)
    owners_are_right(ring.addresses()[0], ring.addresses(), NAMES)


def test_twelve_nodes_that_join_at_once_are_one_ring(ring):
    """Eleven nodes join through the first at the same time; the result is the ideal ring."""
    ring.grow(12)

    all_agree(ring)
    for address in ring.addresses():
        owners_are_right(address, ring.addresses(), NAMES)


def test_a_stopped_node_is_let_back_in(ring):
    """A node that stands still for longer than its time-outs is dropped, and after SIGCONT the ring is full again."""
    ring.grow(5)
    all_agree(ring)
    stopped = ring.nodes[2]
    others = [address for address in ring.addresses() if address != stopped.address]

    stopped.process.send_signal(signal.SIGSTOP)
    try:
        for address in others:
            agrees(address, others)
        owners_are_right(others[0], others, NAMES)
    finally:
        stopped.process.send_signal(signal.SIGCONT)

    all_agree(ring)
    for address in ring.addresses():
        owners_are_right(address, ring.addresses(), NAMES)


def test_a_killed_node_comes_back_at_once_under_its_address(ring):
    """A node restarted on its port right after kill -9 replaces its former self, which others still list."""
    ring.grow(4)
    all_agree(ring)
    address = ring.nodes[2].address
    others = [each for each in ring.addresses() if each != address]

    ring.kill(ring.nodes[2])
    again = ring.launch(others, int(address.rpartition(":")[2]))
    ring.wait_ready([again])

    assert (again.address, again.identifier) == (address, member_id(address))
    all_agree(ring)
    for each in ring.addresses():
        owners_are_right(each, ring.addresses(), NAMES)


def test_neighbours_that_die_together_are_passed_over(ring):
    """Two adjacent nodes of seven are killed at the same moment; the rest is one ring and names the right owners."""
    ring.grow(7)
    all_agree(ring)
    in_order = sorted(ring.nodes, key=lambda node: node.identifier)

    for node in in_order[2:4]:
        node.process.kill()
    for node in in_order[2:4]:
        ring.kill(node)

    all_agree(ring)
    for address in ring.addresses():
        owners_are_right(address, ring.addresses(), NAMES)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_node(ring, number):
    """Ctrl-C and SIGTERM end a node soon, with exit code 0, nothing on stderr, and only its ready line on stdout."""
    ring.grow(3)
    node = ring.nodes[1]

    node.process.send_signal(number)

    assert node.process.wait(20) == 0
    assert node.errors.read_text() == ""
    assert node.output.read_text().count("\n") == 1
    ring.nodes.remove(node)
    agrees(ring.addresses()[0], ring.addresses())


def test_virtual_nodes_share_the_ring_of_their_processes(ring):
    """Three processes of 8 virtual nodes each are one ring of 24; one is killed, and 16 remain, with right owners."""
    ring.options = ["--vnodes", "8"]
    ring.grow(3)

    all_agree(ring, vnodes=8)
    for address in ring.addresses():
        owners_are_right(address, ring.addresses(), NAMES, vnodes=8)

    ring.kill(ring.nodes[1])
    all_agree(ring, vnodes=8)
    for address in ring.addresses():
        owners_are_right(address, ring.addresses(), NAMES, vnodes=8)
    assert dht("ring", via=ring.addresses()[0]).out.endswith("16 members on 2 processes; all views agree\n")
