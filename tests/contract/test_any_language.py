"""A plain REQ socket and MessagePack are enough to find an owner: what the README tells other languages to do."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mmh3
import msgpack
import pytest
import zmq

from broker.local_ring import LocalRing
from chord.client import RingClient

TIMEOUT_MS = 10_000


@pytest.fixture(scope="module")
def addresses() -> Iterator[list[str]]:
    with LocalRing() as ring:
        ring.grow(5)
        yield ring.addresses()


# The example begins here.


def ask(address: str, body: dict[str, Any]) -> dict[str, Any]:
    """Send one request to a node, and return the body of its reply."""
    with zmq.Context() as context, context.socket(zmq.REQ) as socket:
        socket.setsockopt(zmq.RCVTIMEO, TIMEOUT_MS)
        socket.setsockopt(zmq.LINGER, 0)
        socket.connect(f"tcp://{address}")
        socket.send(msgpack.packb({"v": 1, "cluster": "ringcast", "call": 1, "body": body}))
        return msgpack.unpackb(socket.recv())["body"]


def find_owner(name: str, address: str) -> tuple[int, str]:
    """Identifier and address of the node that owns a name, asking from node to node."""
    key = mmh3.mmh3_x64_128_uintdigest(name.encode(), 0) & (2**64 - 1)
    hop = ask(address, {"type": "NextHop", "key": key})
    while not hop["final"]:
        _, nearer, _ = hop["candidates"][0]
        hop = ask(nearer, {"type": "NextHop", "key": key})
    identifier, owner, _ = hop["candidates"][0]
    return identifier, owner


# The example ends here.


def test_a_plain_req_socket_finds_what_the_library_finds(addresses):
    """Through every node, the example names the owner that the library names."""
    with RingClient(addresses[:1]) as ring:
        for number in range(20):
            name = f"flights.{number}"
            owner = ring.lookup(name).owner

            assert owner is not None
            assert {find_owner(name, address) for address in addresses} == {(owner.id, owner.address)}


def test_the_example_of_the_readme_runs(addresses, capsys):
    """As it stands there, but for the address."""
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(import msgpack, zmq\n.*?)```", readme, re.DOTALL)

    exec(example.replace("127.0.0.1:5000", addresses[0]), {})

    with RingClient(addresses[:1]) as ring:
        owner = ring.lookup("flights.JFK").owner
    assert owner is not None
    assert capsys.readouterr().out == f"owner: {[owner.id, owner.address, owner.incarnation]}\n"


def test_a_plain_req_socket_stores_and_reads(addresses):
    """Records need no more than that either: put at the owner, get from it."""
    _, owner = find_owner("greeting", addresses[0])

    put = {"type": "Put", "name": "greeting", "entry": "en", "value": b"hello", "lease_s": 60.0}
    until = time.monotonic() + TIMEOUT_MS / 1000
    while (stored := ask(owner, put)).get("kind") in ("Busy", "CopiesMissing") and time.monotonic() < until:
        pass  # the ring is still busy with its last joiner; a put that lacked copies counts on
    page = ask(owner, {"type": "Get", "name": "greeting"})

    assert stored.pop("copies") in (3, 4)  # one more while a joiner takes the arc over
    assert stored["type"] == "Stored"
    assert [entry[:4] for entry in page["entries"]] == [["greeting", "en", stored["version"], b"hello"]]


def test_a_plain_req_socket_is_told_what_was_wrong(addresses):
    """A request that cannot be read is answered with a Failure, so that its sender is not left waiting."""
    answer = ask(addresses[0], {"type": "NextHop", "key": -1})

    assert answer["type"] == "Failure"
    assert answer["kind"] == "RemoteProtocolError"
