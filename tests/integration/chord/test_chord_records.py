"""Records outlive whoever holds them, as long as fewer processes than replicas die at once."""

from __future__ import annotations

import pytest
import zmq

from broker.local_ring import LocalRing
from chord import wire
from chord.client import RingClient
from chord.errors import StaleVersion
from chord.messages import FetchArc, Request
from tests.integration.chord.rings import (
    all_agree,
    first_at_or_after,
    hash64,
    member_id,
    terminate,
)
from tests.waiting import eventually

LEASE_S = 600.0
NAMES = [f"record/{number}" for number in range(60)]


def put_all(ring: LocalRing, names: list[str] = NAMES) -> None:
    """One entry under each name, all acknowledged."""
    copies = min(3, len(ring.nodes))
    with RingClient(ring.addresses(), patience_s=20.0) as client:
        for name in names:
            stored = client.put(name, "entry", name.encode(), LEASE_S)
            assert stored.copies >= copies, name


def all_found(ring: LocalRing, names: list[str] = NAMES) -> None:
    """Every node leads to every record."""
    for address in ring.addresses():
        with RingClient([address], patience_s=20.0) as client:
            for name in names:
                found = [(entry.entry, entry.version, entry.value) for entry in client.get(name)]
                assert found == [("entry", 1, name.encode())], f"{name} through {address}"


def owner_and_next(ring: LocalRing, name: str):
    """The node that owns a name, and the one after it on the circle."""
    in_order = sorted(ring.nodes, key=lambda node: node.identifier)
    owner = first_at_or_after([node.identifier for node in in_order], hash64(name.encode()))
    position = [node.identifier for node in in_order].index(owner)
    return in_order[position], in_order[(position + 1) % len(in_order)]


def test_records_survive_two_crashes_at_once_and_two_more(ring):
    """With three copies an owner and a replica may die at once, and two more when the copies have been made again."""
    ring.grow(7)
    all_agree(ring)
    put_all(ring)

    for _ in range(2):
        dead = owner_and_next(ring, NAMES[0])
        for node in dead:
            node.process.kill()
        for node in dead:
            ring.kill(node)
        all_found(ring)
        copies_are_made_again(ring)


def holders(ring: LocalRing, name: str) -> int:
    """How many nodes hold entries of a record themselves."""
    key = hash64(name.encode())
    held = FetchArc((key - 1) % 2**64, key)
    found = 0
    with zmq.Context() as context:
        for address in ring.addresses():
            with context.socket(zmq.REQ) as asker:
                asker.linger = 0
                asker.connect(f"tcp://{address}")
                asker.send(wire.encode(Request(1, "ringcast", 1, held)))
                found += bool(asker.poll(5_000) and getattr(wire.decode_reply(asker.recv()).body, "entries", ()))
    return found


def copies_are_made_again(ring: LocalRing, names: list[str] = NAMES) -> None:
    """Wait until three nodes hold each record."""
    all_agree(ring)
    for name in names:
        eventually(lambda name=name: holders(ring, name) >= 3, 30.0, f"three copies of {name}")


def test_a_node_that_takes_a_key_over_has_its_record(ring):
    """Records put before others join are found through every node, whoever owns them now."""
    ring.grow(1)
    put_all(ring)

    for _ in range(4):
        ring.grow(1)
        all_found(ring)
    all_agree(ring)
    all_found(ring)


def test_many_that_join_at_once_take_their_records_over(ring):
    """Eight nodes join two at the same time, many next to each other: no record is out of sight afterwards."""
    ring.grow(2)
    names = [f"joined/{number}" for number in range(200)]
    put_all(ring, names)

    ring.grow(8)
    all_agree(ring)

    all_found(ring, names)


def test_a_leaving_node_hands_its_records_over(ring):
    """Nodes leave by SIGTERM one after the other, down to one, which has every record."""
    ring.grow(4)
    all_agree(ring)
    put_all(ring)

    while len(ring.nodes) > 1:
        assert terminate(ring, ring.nodes[0]) == 0
        all_found(ring)


@pytest.mark.parametrize("replicas", [1, 3])
def test_neighbours_that_leave_together_keep_their_records(ring, replicas):
    """Three adjacent nodes of six get SIGTERM at once; their records are with the others, even without replicas."""
    ring.options = ["--replicas", str(replicas)]
    ring.grow(6)
    all_agree(ring)
    with RingClient(ring.addresses(), patience_s=20.0) as client:
        for name in NAMES:
            client.put(name, "entry", name.encode(), LEASE_S)
    in_order = sorted(ring.nodes, key=lambda node: node.identifier)

    for node in in_order[1:4]:
        node.process.terminate()
    codes = [node.process.wait(30) for node in in_order[1:4]]
    ring.members = [node for node in ring.nodes if node not in in_order[1:4]]

    assert codes == [0, 0, 0]
    all_agree(ring)
    all_found(ring)


def test_a_process_of_many_virtual_nodes_hands_everything_over(ring):
    """A process most of whose neighbours are its own virtual nodes leaves: its only copies go to the other process."""
    ring.options = ["--replicas", "1", "--vnodes", "24"]
    ring.grow(1)
    ring.options = ["--replicas", "1"]
    ring.grow(1)
    with RingClient(ring.addresses(), patience_s=20.0) as client:
        for name in NAMES:
            client.put(name, "entry", name.encode(), LEASE_S)

    assert terminate(ring, ring.nodes[0]) == 0

    all_found(ring)


def test_what_was_deleted_does_not_come_back(ring):
    """After the owner that deleted an entry is killed, no replica shows it; the tombstone has been copied."""
    ring.grow(5)
    all_agree(ring)
    put_all(ring)
    with RingClient(ring.addresses(), patience_s=20.0) as client:
        for name in NAMES:
            assert client.delete(name, "entry").version == 2

    ring.kill(owner_and_next(ring, NAMES[0])[0])
    all_agree(ring)

    for address in ring.addresses():
        with RingClient([address], patience_s=20.0) as client:
            assert [client.get(name) for name in NAMES] == [[] for _ in NAMES]


def test_the_next_version_replaces_an_entry(six):
    """A put counts one version up and replaces; an older or equal version is refused; a deletion counts too."""
    with RingClient(six.addresses(), patience_s=20.0) as client:
        assert client.put("versions", "a", b"1", LEASE_S).version == 1
        assert client.put("versions", "a", b"2", LEASE_S).version == 2
        assert client.put("versions", "a", b"9", LEASE_S, version=9).version == 9
        with pytest.raises(StaleVersion, match="version 9 is not newer than 9"):
            client.put("versions", "a", b"other", LEASE_S, version=9)
        with pytest.raises(StaleVersion, match="version 3 is not newer than 9"):
            client.put("versions", "a", b"3", LEASE_S, version=3)

        assert [(entry.version, entry.value) for entry in client.get("versions")] == [(9, b"9")]
        assert client.delete("versions", "a").version == 10
        assert client.get("versions") == []
        assert client.put("versions", "a", b"new", LEASE_S).version == 11


def test_a_lease_runs_out(six):
    """An entry is gone when its lease is over, and the others of its record stay."""
    with RingClient(six.addresses(), patience_s=20.0) as client:
        client.put("leases", "short", b"", 1.0)
        client.put("leases", "long", b"", LEASE_S)

        eventually(lambda: [entry.entry for entry in client.get("leases")] == ["long"], 20.0)


def test_a_record_of_many_entries_comes_page_by_page(six):
    """More entries than one page holds, larger together than one frame: all of them, in the order of their ids."""
    value = bytes(16 * 1024)
    with RingClient(six.addresses(), patience_s=20.0) as client:
        for number in range(80):
            client.put("pages", f"{number:03}", value, LEASE_S)

        found = client.get("pages")

    assert [entry.entry for entry in found] == [f"{number:03}" for number in range(80)]
    assert all(entry.value == value for entry in found)


def test_records_follow_when_a_killed_owner_returns(ring):
    """An owner that is killed and restarted on its port has lost its memory, and gets its records back."""
    ring.grow(4)
    all_agree(ring)
    put_all(ring)
    node = owner_and_next(ring, NAMES[0])[0]

    ring.kill(node)
    again = ring.launch(ring.addresses(), int(node.address.rpartition(":")[2]))
    ring.wait_ready([again])

    assert again.identifier == member_id(node.address)
    all_found(ring)
    all_agree(ring)
    all_found(ring)
