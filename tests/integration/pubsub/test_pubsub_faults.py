"""Direct dissemination when things break: connections, ring nodes, publishers, and frames that are garbage."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack

import msgspec
import pytest
import zmq

from chord.client import RingClient
from pubsub.client import Publisher, Subscriber, WindowFull
from tests.integration.pubsub.pubsub_cable import Cable
from tests.integration.pubsub.pubsub_waiting import DEADLINE_S, sequences, take
from tests.waiting import eventually


@pytest.fixture
def cable():
    made = Cable()
    yield made
    made.close()


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def test_a_connection_that_breaks_costs_no_sample(via, topic, cable):
    """Cut again and again in the middle of the stream: no gap, no duplicate, nothing lost."""
    with Publisher(via=via, advertise=cable.address) as publisher:
        # What it advertises is the near end of the cable; the far end is where it really listens.
        cable.target = f"127.0.0.1:{publisher.port}"
        with Subscriber([topic], via=via) as subscriber:
            publisher.advertise(topic)
            publisher.wait_for_readers(topic, 1, DEADLINE_S)
            stop = threading.Event()

            def publish():
                while not stop.is_set():
                    publisher.publish(topic, b"x" * 50)

            thread = threading.Thread(target=publish)
            thread.start()
            try:
                got = sequences(take(subscriber, 1_000))
                for cut in range(3):
                    connections = cable.connections
                    cable.cut()
                    eventually(lambda before=connections: cable.connections > before, what="it connects again")
                    got += sequences(take(subscriber, 20_000))
                    assert got == list(range(1, len(got) + 1)), f"after cut {cut + 1}"
            finally:
                stop.set()
                thread.join()
            assert subscriber.lost == 0


def test_samples_flow_on_while_a_ring_node_is_killed(start_ring, topic):
    """The ring is not on their way, and the registrations outlive the node that held them."""
    nodes = start_ring(4)
    via = [address for _, address in nodes]
    with RingClient(via) as ring:
        owner = ring.lookup(topic).owner.address
    survivors = [address for address in via if address != owner]
    with (
        Subscriber([topic], via=survivors) as subscriber,
        Publisher(via=survivors, history=5) as publisher,
    ):
        publisher.advertise(topic)  # until then, whoever comes is taken for a subscriber that was there first
        for _ in range(100):
            publisher.publish(topic, b"before")
        assert sequences(take(subscriber, 100)) == list(range(1, 101))

        next(process for process, address in nodes if address == owner).send_signal(signal.SIGKILL)

        for _ in range(100):
            publisher.publish(topic, b"after")
        assert sequences(take(subscriber, 100)) == list(range(101, 201))
        with Subscriber([topic], via=survivors, history=5, patience_s=DEADLINE_S) as newcomer:
            assert sequences(take(newcomer, 5)) == list(range(196, 201))


PUBLISHER = """
import sys
from pubsub.client import Publisher
publisher = Publisher(via=[sys.argv[1]], lease_s=1.0)
for _ in range(10):
    publisher.publish(sys.argv[2], b"x")
publisher.flush(20.0)
print("flushed", flush=True)
while True:
    publisher.publish(sys.argv[2], b"x")
"""


def test_a_publisher_that_is_killed_is_forgotten(via, topic):
    """Its lease lapses, its subscribers drop it, and another one serves them as if nothing had been."""
    with ExitStack() as stack:
        subscriber = stack.enter_context(Subscriber([topic], via=via))
        process = subprocess.Popen([sys.executable, "-c", PUBLISHER, via[0], topic], stdout=subprocess.PIPE, text=True)
        stack.callback(process.communicate)
        stack.callback(process.kill)
        assert process.stdout.readline() == "flushed\n"
        got = sequences(take(subscriber, 1_000))
        assert got == list(range(1, 1_001))

        process.kill()
        while subscriber.publishers:
            got += sequences(subscriber.receive_batch(0.05))
        assert got == list(range(1, len(got) + 1))
        with RingClient(via) as ring:
            assert [entry.entry for entry in ring.get(topic)] == [f"sub/{subscriber.id}"]

        with Publisher(via=via) as other:
            other.publish(topic, b"y")
            while (sample := take(subscriber, 1)[0]).publisher != other.id:
                continue
            assert (sample.sequence, sample.payload) == (1, b"y")


STANDING_STILL = """
import sys
from pubsub import writer
from pubsub.client import Publisher
writer.SILENT_FOR_S = 1.5
publisher = Publisher(via=[sys.argv[1]], lease_s=1.0, on_warning=lambda text: print(text, flush=True))
for topic in sys.argv[2:]:
    publisher.publish(topic, b"x")
publisher.flush(20.0)
print("flushed", flush=True)
for line in sys.stdin:
    for topic in sys.argv[2:]:
        publisher.publish(topic, line.encode())
publisher.close(20.0)
"""


def test_a_publisher_that_stood_still_for_longer_than_its_lease_costs_no_sample(via, topic):
    """It keeps what its subscriber lacks, which let it go meanwhile, until the ring has told of it again."""
    with ExitStack() as stack:
        subscriber = stack.enter_context(Subscriber([topic], via=via))
        publisher = subprocess.Popen(
            [sys.executable, "-c", STANDING_STILL, via[0], topic],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        stack.callback(publisher.communicate)
        stack.callback(publisher.kill)
        assert publisher.stdout.readline() == "flushed\n"
        got = sequences(take(subscriber, 1))

        publisher.send_signal(signal.SIGSTOP)
        eventually(lambda: not subscriber.publishers, what="the publisher is let go")
        publisher.stdin.write("y\n" * 100)
        publisher.stdin.flush()
        publisher.send_signal(signal.SIGCONT)
        said, _ = publisher.communicate(timeout=DEADLINE_S)

        got += sequences(take(subscriber, 100))
        assert (publisher.returncode, said) == (0, "")
        assert got == list(range(1, 102))
        assert subscriber.lost == 0


def test_what_did_not_come_from_a_publisher_that_is_gone_is_lost(via, topic):
    """The publisher spoke of it in its last words."""
    with Subscriber([topic], via=via) as subscriber, Publisher(via=via, block_s=0.2) as publisher:
        publisher.publish(topic, b"x")
        publisher.flush(DEADLINE_S)
        published = 1
        with pytest.raises(WindowFull):
            while published < 10_000:
                published = publisher.publish(topic, bytes(100_000))

        publisher.close(0.0)
        eventually(lambda: not subscriber.publishers, what="the publisher is let go")

        got = []
        while samples := subscriber.receive_batch(0.0):
            got += sequences(samples)
        assert got == list(range(1, len(got) + 1))
        assert subscriber.lost == published - len(got) > 0


def garbage(rng, encoded):
    """One shape after another: noise, torn and damaged messages, deep nesting, huge lengths, batches of nothing."""
    yield []
    yield [b""]
    yield [b"", b""]
    yield [b"\x91" * 10_000]
    yield [b"\xdd\xff\xff\xff\xff"]
    yield [b"\xdb\xff\xff\xff\xffx"]
    yield [b"\x92\xa9subscribe\xa1\xff"]
    yield [b"\xc1"]
    yield [b"\xc1\x01\x00\x00" + b"\xff" * 100]
    yield [b"\xc1\x01" + rng.randbytes(200)]
    yield [rng.randbytes(rng.randrange(300))]
    yield [rng.randbytes(10) for _ in range(rng.randrange(2, 30))]
    for whole in encoded:
        yield [whole[: rng.randrange(len(whole))]]
        damaged = bytearray(whole)
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        yield [bytes(damaged)]


def shower(address, encoded, count):
    """Send `count` of each shape to a ROUTER."""
    rng = random.Random(7)
    with zmq.Context() as context, context.socket(zmq.DEALER) as dealer:
        dealer.set(zmq.LINGER, 5_000)
        dealer.connect(f"tcp://{address}")
        for _ in range(count):
            for frames in garbage(rng, encoded):
                if frames:
                    dealer.send_multipart(frames)
            while dealer.poll(0):
                dealer.recv_multipart()


def test_garbage_costs_nobody_anything(via, topic):
    """2,000 frames of every shape at either ROUTER: nothing ends, nothing leaks, the next good message is served."""
    with Subscriber([topic], via=via) as subscriber, Publisher(via=via, history=1) as publisher:
        publisher.publish(topic, b"before")
        assert sequences(take(subscriber, 1)) == [1]
        before = descriptors()
        encode = msgspec.msgpack.encode
        to_publisher = [
            encode(["subscribe", 1, topic, int(publisher.id, 16), "r", ["best_effort", "volatile", 0, "shared"], None]),
            encode(["ack", 1, 0, 0]),
            encode(["unsubscribe", 1]),
        ]
        entry = [topic, "pub/0123456789abcdef", 1, b"\xff", 10.0]
        to_subscriber = [
            encode({"v": 1, "cluster": "ringcast", "call": 0, "body": {"type": "Changed", "entry": entry}}),
            encode({"v": 1, "cluster": "ringcast", "call": 5, "body": {"type": "Ping"}}),
        ]

        shower(publisher.address, to_publisher, 2_000)
        shower(subscriber.address, to_subscriber, 2_000)

        publisher.publish(topic, b"after")
        publisher.flush(DEADLINE_S)
        assert [sample.payload for sample in take(subscriber, 1)] == [b"after"]
        # A flipped bit may well make a message of another reader, which is served until its connection ends.
        with Subscriber([topic], via=via, history=1) as newcomer:
            assert [sample.payload for sample in take(newcomer, 1)] == [b"after"]
        eventually(lambda: descriptors() <= before, what="every descriptor is given back")


def test_clients_give_back_what_they_held(via, topic):
    """Descriptors and threads, client after client."""

    def once():
        with Subscriber([topic], via=via) as subscriber, Publisher(via=via) as publisher:
            publisher.publish(topic, b"x")
            take(subscriber, 1)

    once()
    before = descriptors(), threading.active_count()
    for _ in range(5):
        once()

    assert (descriptors(), threading.active_count()) == before


def test_a_ring_that_ended_and_began_anew_brings_its_clients_together(start_ring, topic):
    """The new ring knows nothing: whoever lives registers again, and finds the others, old or new."""
    ((process, address),) = start_ring(1)
    with ExitStack() as stack:
        subscriber = stack.enter_context(Subscriber([topic], via=[address]))
        publisher = stack.enter_context(Publisher(via=[address], history=1))
        publisher.advertise(topic)
        publisher.publish(topic, b"before")
        assert sequences(take(subscriber, 1)) == [1]

        process.kill()
        process.wait()
        publisher.publish(topic, b"without a ring")
        assert sequences(take(subscriber, 1)) == [2]
        start_ring(1, "--port", address.rpartition(":")[2])

        later = stack.enter_context(Subscriber([topic], via=[address], history=1, patience_s=DEADLINE_S))
        assert sequences(take(later, 1)) == [2]
        with RingClient([address]) as ring:
            everybody = {f"pub/{publisher.id}", f"sub/{subscriber.id}", f"sub/{later.id}"}
            eventually(lambda: {entry.entry for entry in ring.get(topic)} == everybody, what="all are registered again")
        other = stack.enter_context(Publisher(via=[address]))
        other.publish(topic, b"new")
        assert [sample.publisher for sample in take(subscriber, 1)] == [other.id]
