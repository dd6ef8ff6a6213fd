"""Recursive lookups over real processes: as right as iterative ones, and found anyway when they are lost."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
import zmq

from broker.local_ring import LocalRing
from chord import wire
from chord.client import RingClient
from chord.errors import LocalProtocolError
from chord.messages import Arrived, Ping, Pointer, Request
from tests.integration.chord.rings import all_agree, dht, first_at_or_after, hash64, member_id, node_at
from tests.spools import read_rows

NAMES = [f"topic/{number}" for number in range(60)]


@pytest.fixture
def via(six) -> str:
    return six.addresses()[0]


@pytest.fixture
def client(via) -> Iterator[RingClient]:
    with RingClient([via], mode="recursive") as client:
        yield client


def owners(client: RingClient, addresses: list[str], names: list[str] = NAMES) -> list[str]:
    """The owner of each name, looked up and found to be the one computed from the addresses alone."""
    members = {member_id(address): address for address in addresses}
    for name in names:
        walk = client.lookup(name)
        owner = first_at_or_after(list(members), hash64(name.encode()))
        assert walk.owner is not None
        assert (walk.owner.id, walk.owner.address) == (owner, members[owner]), name
    return [members[first_at_or_after(list(members), hash64(name.encode()))] for name in names]


def test_every_node_leads_to_the_first_node_at_or_after_the_hash(six):
    """Whoever is asked, the owner itself answers, without a time-out."""
    for address in six.addresses():
        with RingClient([address], mode="recursive") as client:
            owners(client, six.addresses())
            assert client.lookup("a").path[0].address == address
            assert client.lookup("a").timeouts == 0


def test_what_is_put_is_got_and_deleted(client, six):
    """Records are found in this mode too, by clients of either."""
    client.put("recursive", "e", b"v", 60.0)
    with RingClient([six.addresses()[3]]) as other:
        assert [entry.value for entry in other.get("recursive")] == [b"v"]

    assert [entry.value for entry in client.get("recursive")] == [b"v"]
    client.delete("recursive", "e")
    assert client.get("recursive") == []


def test_a_client_that_the_ring_cannot_reach_finds_the_owner_anyway(via, six):
    """Its lookups are lost, time out and are asked again iteratively."""
    with RingClient([via], mode="recursive", advertise="127.0.0.1:9") as client:
        owners(client, six.addresses(), NAMES[:3])
        assert client.lookup("a").timeouts == 1


def test_owners_are_found_while_the_dead_are_not_yet_missed(ring: LocalRing):
    """Right after kill -9 of 2 of 8 nodes every lookup ends with the first living node at or after the hash."""
    ring.grow(8)
    all_agree(ring)
    asked, *others = ring.addresses()
    with RingClient([asked], mode="recursive") as client:
        owners(client, ring.addresses(), NAMES[:10])
        for address in others[2:4]:
            ring.kill(node_at(ring, address))

        owners(client, ring.addresses())


def test_only_the_token_of_a_lookup_ends_it(client, via):
    """Whoever connects to a client and casts answers at it ends no lookup, and disturbs none."""
    address = client._ring._locator._answer_at
    with zmq.Context() as context, context.socket(zmq.DEALER) as forger:
        forger.linger = 0
        forger.connect(f"tcp://{address}")
        for number in range(300):
            token = client._kernel._next_call + number % 5
            forger.send(wire.encode(Request(1, "ringcast", number % 2, Arrived(token, Pointer(1, "forged:1", 1)))))
            forger.send(wire.encode(Request(1, "ringcast", 1, Ping())))
            forger.send(b"\xc1garbage")
            walk = client.lookup(f"name-{number}")
            assert walk.owner is not None and walk.owner.address != "forged:1"
            assert walk.path[0].address == via


def test_the_command_asks_in_either_mode(six, via, tmp_path):
    """Same owner and path; the row of the trace says which mode it was."""
    iterative, recursive = (
        json.loads(dht("lookup", "flights.JFK", "--json", "--mode", mode, "--via", via, "--trace", str(tmp_path)).out)
        for mode in ("iterative", "recursive")
    )

    assert iterative[0]["owner"]["address"] in six.addresses()
    assert (recursive[0]["owner"], recursive[0]["path"]) == (iterative[0]["owner"], iterative[0]["path"])
    rows = [row for path in tmp_path.iterdir() for row in read_rows(path) if row[0] == "lookup"]
    assert sorted(str(row[3]) for row in rows) == ["iterative", "recursive"]
    said = dht("lookup", "flights.JFK", "--mode", "recursive", "--via", via).out.splitlines()
    assert re.fullmatch(r"  took  \d+ us", said[3])


def test_a_mode_that_is_none_is_an_error_of_usage(via):
    """In Python and on the command line."""
    with pytest.raises(LocalProtocolError, match="a lookup is iterative or recursive, not 'both'"):
        RingClient([via], mode="both")
    assert dht("lookup", "a", "--mode", "both", "--via", via).code == 2
    assert dht("lookup", "a", "--mode", "recursive", "--host", "0.0.0.0", "--via", via).code == 2
