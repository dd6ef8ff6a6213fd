"""Whatever arrives at a node's socket costs its sender an error, and nobody else anything."""

from __future__ import annotations

import random
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import msgpack
import pytest
import zmq

from broker.local_ring import LocalRing, Node
from chord import wire
from chord.client import RingClient
from chord.limits import MAX_FRAME_BYTES
from chord.messages import (
    Arrived,
    Changed,
    CompareArc,
    ConfirmOwner,
    Copy,
    Entry,
    FetchArc,
    Forward,
    Get,
    GetNeighbours,
    Leave,
    Meet,
    NextHop,
    Notify,
    Nudge,
    Ping,
    Pointer,
    Put,
    Request,
)
from tests.integration.chord.rings import all_agree, owners_are_right
from tests.waiting import eventually

FRAMES = 2_000
GROWTH_KB = 5 * 1024
BATCH = 100
OF_PEERS = 6
"""Descriptors of the connections between a node and its two peers, which come and go: a mailbox and a socket to each, a
socket from each. An attack that left one behind for each frame would leave hundreds."""
NAMES = [f"after/{number}" for number in range(20)]
GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00NULL" + bytes(16) + b"\x00" + bytes(31)

ENTRY = Entry("k", "e", 1, b"value", 60.0)
HARMLESS = [
    Ping(),
    NextHop(7),
    ConfirmOwner(7),
    Forward(7, "127.0.0.1:9", 5),
    Forward(7, "nowhere", 5, (Pointer(1, "x:1", 1),), (Pointer(1, "127.0.0.1:9", 1),)),
    Arrived(7, None),
    GetNeighbours(),
    Nudge(),
    Put("garbage", "entry", b"value", 5.0),
    Get("garbage"),
    CompareArc(1, 2, 3),
    FetchArc(1, 2),
    Changed(ENTRY),
]


@pytest.fixture(scope="module")
def ring() -> Iterator[LocalRing]:
    """A ring of three that every test leaves as it found it."""
    with LocalRing() as ring:
        ring.grow(3)
        all_agree(ring)
        yield ring


def envelope(
    body: object, call: object = 1, version: object = 1, cluster: object = "ringcast", **more: object
) -> bytes:
    return msgpack.packb({"v": version, "cluster": cluster, "call": call, "body": body, **more})


def valid(chance: random.Random) -> bytes:
    to = chance.choice([None, (7, 7)])
    return wire.encode(Request(1, "ringcast", chance.randrange(1 << 30), chance.choice(HARMLESS), to))


def flipped(chance: random.Random) -> bytes:
    frame = bytearray(valid(chance))
    for _ in range(chance.randint(1, 4)):
        frame[chance.randrange(len(frame))] ^= 1 << chance.randrange(8)
    return bytes(frame)


def value(chance: random.Random, depth: int = 3) -> object:
    kinds = [None, True, -1, 2**64 - 1, 1.5, float("nan"), float("inf"), "text", b"bytes", "", b"", -(2**63)]
    if depth and chance.random() < 0.4:
        return [value(chance, depth - 1) for _ in range(chance.randrange(4))]
    if depth and chance.random() < 0.4:
        return {str(number): value(chance, depth - 1) for number in range(chance.randrange(4))}
    return chance.choice(kinds)


def wrong_types(chance: random.Random) -> bytes:
    kind = chance.choice(
        ["Put", "Get", "NextHop", "Ping", "Notify", "Copy", "FetchArc", "Forward", "Arrived", "Nobody", 7, None]
    )
    fields = ["key", "name", "entry", "value", "lease_s", "version", "sender", "entries", "low", "high", "after"]
    fields += ["asker", "token", "path", "owners", "denied", "owner"]
    body = {"type": kind, **{field: value(chance) for field in fields if chance.random() < 0.6}}
    return envelope(body, chance.choice([1, 0, -1, 2**64 - 1, "one", None]), chance.choice([1, 2, "1"]), value(chance))


def huge(chance: random.Random) -> bytes:
    head = chance.choice([b"\xdd", b"\xdf", b"\xdb", b"\xc6", b"\xc9"]) + struct.pack(">I", chance.randrange(1 << 32))
    return chance.choice([head, b"\x84\xa1v\x01\xa4body" + head, head + b"\x00" * 50])


SHAPES = {
    "empty": lambda _chance: b"",
    "random": lambda chance: chance.randbytes(chance.randrange(1, 300)),
    "bad utf-8": lambda chance: envelope({"type": "Get", "name": "NAME"}).replace(b"NAME", chance.randbytes(4)),
    "deep": lambda chance: (
        chance.choice([b"\x91", b"\x81\xa1a", b"\x81\xa4body"]) * chance.choice([100, 10_000, 200_000])
    ),
    "deep call": lambda _chance: b"\x84\xa1v\x01\xa4call\x05\xa7cluster\xa1x\xa4body" + b"\x91" * 100_000,
    "huge lengths": huge,
    "no envelope": lambda chance: msgpack.packb(value(chance)),
    "other version": lambda chance: envelope({"type": "Ping"}, version=chance.choice([0, 2, -1, 2**63])),
    "other cluster": lambda chance: envelope({"type": "Ping"}, cluster=chance.choice(["other", "", "x" * 65, "\0"])),
    "cut": lambda chance: (frame := valid(chance))[: chance.randrange(len(frame))],
    "wrong types": wrong_types,
    "flipped": flipped,
    "trailing": lambda chance: valid(chance) + chance.randbytes(5),
    "a reply": lambda chance: msgpack.packb({"v": 1, "call": chance.randrange(1 << 33), "body": {"type": "Pong"}}),
    "long name": lambda chance: envelope({"type": "Get", "name": "n" * chance.choice([256, 70_000])}),
    "no such field": lambda _chance: envelope({"type": "Ping", "more": 1}, extra=[1]),
    "identifier": lambda chance: envelope({"type": "NextHop", "key": chance.choice([-1, 2**64 - 1, 1.0, 2**53])}),
    "not NFC": lambda _chance: envelope({"type": "Get", "name": "e\u0301"}),
    "control": lambda _chance: envelope({"type": "Put", "name": "a\x00b", "entry": "e"}),
    "nan lease": lambda _chance: envelope({"type": "Put", "name": "a", "entry": "e", "lease_s": float("nan")}),
    "big": lambda chance: chance.randbytes(1000) * (MAX_FRAME_BYTES // 1000),
}
RARE = {"big", "deep", "deep call"}


def frames(chance: random.Random, count: int) -> list[bytes]:
    """Frames of every shape, in random order, the costly ones rarely."""
    common = [name for name in SHAPES if name not in RARE]
    made = [SHAPES[name](chance) for name in SHAPES]
    made += [SHAPES[chance.choice(common)](chance) for _ in range(count - len(made))]
    chance.shuffle(made)
    return made


def descriptors(node: Node) -> int:
    return len(list(Path(f"/proc/{node.process.pid}/fd").iterdir()))


def resident_kb(node: Node) -> int:
    status = Path(f"/proc/{node.process.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


class Attacker:
    """Sockets of each kind at one node."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.context = zmq.Context()

    def dealer(self, batch: list[bytes], chance: random.Random) -> None:
        """Each frame alone, with a delimiter, or among many."""
        with self.context.socket(zmq.DEALER) as dealer:
            dealer.linger = 1000
            dealer.connect(f"tcp://{self.address}")
            for frame in batch:
                before = chance.choice([[], [], [], [b""], [b""] * 14, [b"x"] * 40, [frame[:100]] * 300])
                dealer.send_multipart([*before, frame])
            eventually(lambda: self._pong(dealer), 30.0, "a reply to a ping behind the garbage")

    def _pong(self, dealer: zmq.Socket) -> bool:
        """Asks each time: a frame over the limit ends the connection, and takes with it what was sent behind it."""
        dealer.send_multipart([wire.encode(Request(1, "ringcast", 99, Ping()))])
        while dealer.poll(20):
            if b"Pong" in dealer.recv_multipart()[-1]:
                return True
        return False

    def requests(self, batch: list[bytes]) -> None:
        """REQ sockets, one frame each, that wait for the answer they are owed, or none."""
        with self.context.socket(zmq.REQ) as asker:
            asker.linger = 1000
            asker.setsockopt(zmq.REQ_RELAXED, 1)
            asker.setsockopt(zmq.REQ_CORRELATE, 1)
            asker.connect(f"tcp://{self.address}")
            for frame in batch:
                asker.send(frame)
                if asker.poll(20):
                    asker.recv_multipart()
            asker.send(wire.encode(Request(1, "ringcast", 5, Ping())))
            assert asker.poll(20_000)
            assert wire.decode_reply(asker.recv()).call == 5

    def raw(self, batch: list[bytes], chance: random.Random) -> None:
        """TCP connections that speak ZMTP badly or not at all."""
        host, _, port = self.address.rpartition(":")
        for frame in batch:
            with socket.create_connection((host, int(port)), 10.0) as connection:
                start = chance.choice(
                    [b"", GREETING[: chance.randrange(64)], GREETING, b"\xff" + b"\0" * 7 + b"\x01\x7f"]
                )
                length = struct.pack(">Q", chance.choice([len(frame), 1 << 62, (1 << 64) - 1, MAX_FRAME_BYTES + 1]))
                head = chance.choice([b"", b"\x00\x05", b"\x02" + length, b"\x04\x05", b"\x06" + length])
                try:
                    connection.sendall(start + head + frame)
                except OSError:
                    continue  # the node has hung up in the middle of it

    def close(self) -> None:
        self.context.destroy(linger=0)


def attack(node: Node, chance: random.Random, count: int) -> None:
    attacker = Attacker(node.address)
    try:
        for start in range(0, count, BATCH):
            batch = frames(chance, min(BATCH, count - start))
            third = len(batch) // 3
            attacker.dealer(batch[:third], chance)
            attacker.requests(batch[third : 2 * third])
            attacker.raw(batch[2 * third :], chance)
    finally:
        attacker.close()


def test_garbage_leaves_a_node_as_it_was(ring):
    """2,000 bad frames from DEALER, REQ and TCP sockets: the node serves on, and holds no more than before."""
    node = ring.nodes[1]
    attack(node, random.Random(1), 4 * BATCH)
    quiet = eventually(lambda: settled(node), 30.0)
    before_kb = resident_kb(node)

    attack(node, random.Random(2), FRAMES)

    owners_are_right(node.address, ring.addresses(), NAMES)
    most = quiet + OF_PEERS
    eventually(lambda: descriptors(node) <= most, 30.0, f"back to {most} descriptors at most")
    assert resident_kb(node) - before_kb <= GROWTH_KB
    assert node.process.poll() is None
    assert node.errors.read_text() == ""
    all_agree(ring)


def settled(node: Node) -> int:
    """The descriptors of a node once the connections of an attack are gone; 0 while they are still going."""
    first = descriptors(node)
    with RingClient([node.address]) as client:
        client.lookup("a")
    return first if first < 60 and descriptors(node) <= first + 1 else 0


def test_a_frame_over_the_limit_ends_only_its_own_connection(ring):
    """A frame of more than 1 MiB closes the connection it came by; a request on another one is served meanwhile."""
    node = ring.nodes[0]
    with zmq.Context() as context, context.socket(zmq.DEALER) as big, context.socket(zmq.DEALER) as good:
        for each in (big, good):
            each.linger = 0
            each.connect(f"tcp://{node.address}")
        big.send(bytes(MAX_FRAME_BYTES + 1))
        good.send(wire.encode(Request(1, "ringcast", 1, Ping())))

        assert good.poll(20_000)
        assert b"Pong" in good.recv()
        assert not big.poll(200)
    owners_are_right(node.address, ring.addresses(), NAMES)


def test_an_unreadable_request_is_answered_under_its_call(ring):
    """Whoever waits for a reply to a request that cannot be read is told why, under the call id that it gave."""
    with zmq.Context() as context, context.socket(zmq.REQ) as asker:
        asker.linger = 0
        asker.connect(f"tcp://{ring.nodes[0].address}")
        asker.send(envelope({"type": "NextHop", "key": "seven"}, call=41))
        assert asker.poll(20_000)
        reply = wire.decode_reply(asker.recv())

    assert reply.call == 41
    assert isinstance(wire.raised(reply.body), wire.RemoteProtocolError)
    assert "unreadable request of" in reply.body.text


NOBODY = "127.0.0.1:1"
LIES = {
    "closer": lambda node: Notify(Pointer(node.identifier - 1, NOBODY, 5)),
    "same identifier": lambda node: Notify(Pointer(node.identifier, NOBODY, 5)),
    "other incarnation": lambda node: Notify(Pointer(node.identifier, node.address, 5)),
    "no incarnation": lambda node: Notify(Pointer(node.identifier - 1, node.address, 0)),
    "no address": lambda node: Notify(Pointer(node.identifier - 1, "no address", 5)),
    "leave": lambda node: Leave(Pointer(node.identifier, node.address, 5)),
    "meet": lambda _node: Meet(Pointer(1, NOBODY, 5)),
    "copy": lambda _node: Copy((Entry("lie", "e", 2**53, b"", 5.0),), handover=True),
    "last version": lambda _node: Put("lie", "e", b"", 5.0, 2**53),
}


@pytest.mark.parametrize("lie", LIES)
def test_the_ring_recovers_from_a_lie(ring, lie):
    """A well-formed message with nothing behind it, about the node or its neighbour, moves the ring for a moment."""
    node, other = ring.nodes[0], ring.nodes[1]
    with zmq.Context() as context, context.socket(zmq.DEALER) as liar:
        liar.linger = 1000
        liar.connect(f"tcp://{node.address}")
        for call, about in enumerate((node, other), 1):
            liar.send(wire.encode(Request(1, "ringcast", call, LIES[lie](about))))
            assert liar.poll(20_000)
            liar.recv()

    all_agree(ring)
    owners_are_right(node.address, ring.addresses(), NAMES)
