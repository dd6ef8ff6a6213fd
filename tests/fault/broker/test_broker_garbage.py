"""Whatever arrives at a broker's sockets costs its sender an error, and no client of the zone anything."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from pathlib import Path

import msgpack
import pytest
import zmq

from broker import messages as broker_messages
from broker.messages import Follow
from chord.client import RingClient
from chord.identifiers import IdentifierSpace
from chord.limits import MAX_FRAME_BYTES
from chord.messages import Changed, Entry, Ping, Request
from chord.wire import encode as encode_request
from pubsub import messages
from pubsub.batch import Batch
from pubsub.encoding import SingleEncoder
from pubsub.layout import CHECKSUM_AT, MAGIC, Origin
from pubsub.messages import Ack, Heartbeat, Mismatched, PublisherRecord, Subscribe, Subscribed, Unsubscribe
from pubsub.profile import Profile
from pubsub.zones import clients_of
from tests.fault.chord.test_chord_garbage import frames as frames_for_a_node
from tests.integration.broker.traffic import Traffic
from tests.integration.broker.zones import Broker, Ground, Zone
from tests.waiting import eventually

FRAMES = 2_000
GROWTH_KB = 10 * 1024
PATIENCE_MS = 20_000
NOBODY = 999_999
"""A stream that nobody reads: its Gone is the last that an attacker hears."""


@pytest.fixture(scope="module")
def ground() -> Iterator[Ground]:
    with Ground(1) as ground:
        yield ground


@pytest.fixture(scope="module")
def zone(ground: Ground) -> Iterator[Zone]:
    """A primary and a backup, which every test leaves as it found them."""
    with Zone(ground) as zone:
        zone.grow(2)
        yield zone


@pytest.fixture
def context() -> Iterator[zmq.Context]:
    context = zmq.Context()
    yield context
    context.destroy(linger=0)


def batch(topic: str, producer: int, sequence: int, payload: bytes) -> bytes:
    return SingleEncoder(Origin(topic, IdentifierSpace().key(topic), producer)).encode(sequence, payload, 1)


VALID = [
    msgpack.packb(["subscribe", 1, "t", 7, "somebody", ["at_least_once", "volatile", 0, "shared"]]),
    messages.encode(Ack(3, 5, 5)),
    messages.encode(Unsubscribe(3)),
    messages.encode(Mismatched(3, "somebody", ("history",), "text")),
]


def flipped(chance: random.Random) -> bytes:
    frame = bytearray(chance.choice(VALID))
    for _ in range(chance.randint(1, 4)):
        frame[chance.randrange(len(frame))] ^= 1 << chance.randrange(8)
    return bytes(frame)


def wrong_types(chance: random.Random) -> bytes:
    kinds = [None, True, -1, 2**64 - 1, 1.5, float("nan"), "text", b"bytes", "", [], [[]], {"a": 1}, "x" * 70_000]
    tags = ["subscribe", "ack", "unsubscribe", "mismatched", "follow", "streams", "heartbeat", "gone", 7, None]
    return msgpack.packb([chance.choice(tags), *(chance.choice(kinds) for _ in range(chance.randrange(12)))])


SHAPES = {
    "empty": lambda _chance: b"",
    "random": lambda chance: chance.randbytes(chance.randrange(1, 300)),
    "cut": lambda chance: (frame := chance.choice(VALID))[: chance.randrange(len(frame))],
    "flipped": flipped,
    "trailing": lambda chance: chance.choice(VALID) + chance.randbytes(5),
    "wrong types": wrong_types,
    "huge counts": lambda chance: (
        chance.choice([b"\xdd", b"\xdf", b"\xdb", b"\xc6", b"\x96\xa9subscribe\xdb"])
        + struct.pack(">I", chance.randrange(1 << 32))
    ),
    "deep": lambda chance: b"\x91" * chance.choice([100, 10_000, 200_000]),
    "a batch": lambda chance: batch("t", 7, chance.randrange(1, 1 << 40), chance.randbytes(50)),
    "no batch": lambda chance: bytes([MAGIC]) + chance.randbytes(chance.randrange(200)),
    "what only a source says": lambda _chance: messages.encode(Heartbeat(1, 2**53, 2**53, 2**53)),
    "nobody's": lambda chance: messages.encode(Subscribe(chance.randrange(99), "t", 7, "somebody", Profile(), 2**53)),
    "at the limit": lambda chance: chance.randbytes(1000) * (MAX_FRAME_BYTES // 1000),
}
RARE = {"deep", "at the limit"}


def frames(chance: random.Random, count: int) -> list[bytes]:
    """Frames of every shape in random order, the costly ones rarely."""
    common = [name for name in SHAPES if name not in RARE]
    made = [SHAPES[name](chance) for name in SHAPES]
    made += [SHAPES[chance.choice(common)](chance) for _ in range(count - len(made))]
    chance.shuffle(made)
    return made


def attack_data(context: zmq.Context, address: str, chance: random.Random, count: int) -> None:
    """Each frame alone, with a delimiter, or among many, until all have been heard."""
    with context.socket(zmq.DEALER) as dealer:
        dealer.linger = 1000
        dealer.connect(f"tcp://{address}")
        for frame in frames(chance, count):
            before = chance.choice([[], [], [], [], [b""], [b""] * 14, [frame[:100]] * 300])
            dealer.send_multipart([*before, frame])
        dealer.send(messages.encode(Unsubscribe(NOBODY)))
        heard_last(dealer)


def heard_last(dealer: zmq.Socket) -> None:
    """Wait for the answer to what was said last."""
    gone = messages.encode(messages.Gone(NOBODY))
    while dealer.poll(PATIENCE_MS):
        if dealer.recv() == gone:
            return
    raise AssertionError(f"no answer within {PATIENCE_MS} ms")


def attack_ring(context: zmq.Context, address: str, chance: random.Random, count: int) -> None:
    """What a ring node has to stand, and news of entries that nobody asked for."""
    lie = Entry("zone/x/clients", "pub/x", 2**53, b"nothing", 5.0)
    with context.socket(zmq.DEALER) as dealer:
        dealer.linger = 1000
        dealer.connect(f"tcp://{address}")
        for number, frame in enumerate(frames_for_a_node(chance, count)):
            dealer.send_multipart([*chance.choice([[], [], [b""], [frame[:100]] * 300]), frame])
            if number % 50 == 0:
                dealer.send(encode_request(Request(1, "ringcast", 3, Changed(lie))))
        dealer.send(encode_request(Request(1, "ringcast", NOBODY, Ping())))
        while dealer.poll(PATIENCE_MS):
            answer = msgpack.unpackb(dealer.recv_multipart()[-1])
            if answer.get("call") == NOBODY:
                assert "no ring node" in str(answer), answer
                return
    raise AssertionError("no answer to the last request")


def descriptors(broker: Broker) -> int:
    return len(list(Path(f"/proc/{broker.process.pid}/fd").iterdir()))


def resident_kb(broker: Broker) -> int:
    status = Path(f"/proc/{broker.process.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


def ring_address(ground: Ground, zone: Zone, broker: Broker) -> str:
    """Where the ring tells a broker of its zone's clients."""
    with RingClient(ground.via) as client:
        return next(each.notify for each in client.get(clients_of(zone.name)) if each.entry == f"broker/{broker.id}")


def test_garbage_leaves_brokers_and_their_traffic_as_they_were(ground: Ground, zone: Zone, context: zmq.Context):
    """2,000 bad frames at the primary's data socket, as many at its ring socket, some at the backup's."""
    primary = zone.primary
    (backup,) = (broker for broker in zone.brokers if broker is not primary)
    at_ring = ring_address(ground, zone, primary)
    with zone.subscriber() as reader, zone.publisher() as writer, Traffic(zone.name, [writer], [reader]) as traffic:
        traffic.flows()
        for number in (1, 2):
            attack_data(context, primary.address, random.Random(number), FRAMES // 4)
            attack_ring(context, at_ring, random.Random(number), FRAMES // 4)
        traffic.flows()
        open_before, before_kb = descriptors(primary), resident_kb(primary)

        attack_data(context, primary.address, random.Random(3), FRAMES)
        attack_data(context, backup.address, random.Random(4), FRAMES // 10)
        attack_ring(context, at_ring, random.Random(5), FRAMES)

        traffic.flows()
        eventually(lambda: descriptors(primary) <= open_before, 20.0, f"back to {open_before} descriptors")
        assert resident_kb(primary) - before_kb <= GROWTH_KB
        zone.wait_in_sync([primary, backup])
    assert traffic.epochs() == [1]
    assert (primary.said(), backup.said()) == ("", "")


def test_a_frame_over_the_limit_ends_only_its_own_connection(zone: Zone, context: zmq.Context):
    """Of more than 1 MiB; what others say is heard."""
    with context.socket(zmq.DEALER) as big, context.socket(zmq.DEALER) as good:
        for each in (big, good):
            each.linger = 0
            each.connect(f"tcp://{zone.primary.address}")
        big.send(bytes(MAX_FRAME_BYTES + 1))
        good.send(messages.encode(Unsubscribe(NOBODY)))

        heard_last(good)
        assert not big.poll(200)


def test_backups_that_nobody_knows_change_nothing(zone: Zone, context: zmq.Context):
    """They are told of the streams, and neither waited for nor taken in: ZooKeeper does not know them."""
    with (
        context.socket(zmq.DEALER) as stranger,
        zone.subscriber() as reader,
        zone.publisher() as writer,
        Traffic(zone.name, [writer], [reader]) as traffic,
    ):
        traffic.flows()
        in_sync = zone.state
        stranger.linger = 0
        stranger.connect(f"tcp://{zone.primary.address}")
        for name in ("nobody", zone.primary.id, "x" * 64, "\N{PARTY POPPER}"):
            for have in (0, 2**53):
                stranger.send(msgpack.packb(["follow", name, zone.name, 1, have]))
        stranger.send(msgpack.packb(["follow", "nobody", "another", 1, 0]))
        stranger.send(messages.encode(Unsubscribe(NOBODY)))

        heard_last(stranger)
        traffic.flows()
        writer.flush()
        assert zone.state == in_sync


def test_forged_batches_are_nobodys_samples(zone: Zone, context: zmq.Context):
    """A publisher that a broker reads sends some with a wrong checksum, and some in the name of another publisher."""
    topic = f"{zone.name}/lies"
    with (
        context.socket(zmq.ROUTER) as forger,
        context.socket(zmq.DEALER) as victim,
        zone.subscriber() as reader,
        zone.publisher() as writer,
        Traffic(zone.name, [writer], [reader]) as traffic,
    ):
        traffic.flows()
        forger.linger = victim.linger = 0
        forger.sndhwm = 0  # beyond its mark a ROUTER drops what it sends, and says nothing
        port = forger.bind_to_random_port("tcp://127.0.0.1")
        victim.connect(f"tcp://{zone.primary.address}")
        source = PublisherRecord(f"127.0.0.1:{port}", Profile())
        victim.send(messages.encode(Subscribe(1, topic, 7, "victim", Profile(), None, True, source)))
        assert forger.poll(PATIENCE_MS)
        route, frame = forger.recv_multipart()
        asked = messages.from_subscriber(frame)
        assert isinstance(asked, Subscribe)
        assert (asked.topic, asked.publisher, asked.reader) == (topic, 7, f"zone/{zone.name}")
        damaged = bytearray(batch(topic, 7, 2, b"damaged"))
        damaged[CHECKSUM_AT] ^= 1
        stolen = [batch(zone.name, writer._producer, number, b"forged") for number in range(1, 2_000)]

        for said in (
            messages.encode(Subscribed(asked.stream, 0)),
            batch(topic, 7, 1, b"true"),
            bytes(damaged),
            batch(topic, 8, 2, b"of a stranger"),
            batch(zone.name, 7, 2, b"of another topic"),
            *stolen,
            b"\xc1nothing",
            messages.encode(Subscribed(NOBODY, 0)),
            batch(topic, 7, 2, b"true as well"),
        ):
            forger.send_multipart([route, said])

        payloads = []
        while len(payloads) < 2:
            assert victim.poll(PATIENCE_MS), payloads
            frame = victim.recv()
            if frame[0] == MAGIC:
                payloads += Batch(frame).payloads()
        assert payloads == [b"true", b"true as well"]
        traffic.flows()
    assert zone.primary.said() == ""


def test_a_lie_about_the_epoch_costs_nobody_anything(zone: Zone, context: zmq.Context):
    """Whoever speaks of a higher one, as a reader or as a backup, is sent away; the primary goes on in its own."""
    topic = f"lies in {zone.name}"
    epoch = zone.epoch
    with (
        zone.subscriber(topic) as subscriber,
        zone.publisher() as publisher,
        Traffic(topic, [publisher], [subscriber], pace_s=0.004) as traffic,
        context.socket(zmq.DEALER) as dealer,
    ):
        traffic.flows()
        dealer.connect(f"tcp://{zone.primary.address}")
        for claimed in (epoch + 1, 2**53):
            dealer.send(
                messages.encode(Subscribe(1, topic, int(publisher.id, 16), "liar", Profile(), 0, None, None, claimed))
            )
            dealer.send(broker_messages.encode(Follow("liar", zone.name, claimed, 0)))
        dealer.send(messages.encode(Unsubscribe(NOBODY)))
        heard_last(dealer)

        traffic.flows()

    assert zone.epoch == epoch
