"""Limits hold whatever the other side does: a peer that is written here has no manners."""

from __future__ import annotations

import errno
import time
import tracemalloc
from array import array

import msgspec
import pytest
import zmq

from chord.client import RingClient
from chord.identifiers import IdentifierSpace, hexadecimal
from chord.messages import Entry
from pubsub import attending, finding, messages, subscription
from pubsub.client import Publisher, Subscriber
from pubsub.encoding import encode
from pubsub.layout import Origin
from pubsub.limits import PENDING_BYTES, SAMPLE_OVERHEAD_BYTES, UNTAKEN_BYTES
from pubsub.messages import Ack, Heartbeat, NoRoom, Subscribe, Subscribed, Unsubscribe
from pubsub.profile import Profile
from pubsub.registration import PUBLISHER
from tests.integration.pubsub.pubsub_waiting import DEADLINE_S, sequences, take
from tests.waiting import eventually


@pytest.fixture
def dealer():
    """A DEALER that is not one of ours."""
    with zmq.Context() as context, context.socket(zmq.DEALER) as made:
        made.set(zmq.LINGER, 0)
        made.set(zmq.RCVTIMEO, int(DEADLINE_S * 1000))
        yield made


def answer(dealer, kind):
    """The next message of a kind."""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        frame = dealer.recv()
        message = messages.from_publisher(frame) if frame[0] != 0xC1 else None
        if isinstance(message, kind):
            return message
    raise AssertionError(f"no {kind} came")


def test_a_reader_may_ask_again_when_there_is_room_for_no_other(via, topic, dealer, monkeypatch):
    """Asking again, after a gap, is no second reader."""
    monkeypatch.setattr(attending, "MAX_READERS", 1)
    with Publisher(via=via) as publisher:
        publisher.advertise(topic)
        dealer.connect(f"tcp://{publisher.address}")
        wanted = Subscribe(1, topic, int(publisher.id, 16), "r", Profile())
        for after in (None, 0):
            dealer.send(messages.encode(msgspec.structs.replace(wanted, after=after)))
            assert answer(dealer, (Subscribed, NoRoom)) == Subscribed(1, 0)

        dealer.send(messages.encode(msgspec.structs.replace(wanted, stream=2, reader="another")))
        assert "has 1 readers already" in answer(dealer, NoRoom).text
        dealer.send(messages.encode(messages.Unsubscribe(1)))


def test_a_reader_that_finds_no_room_is_told_and_served_once_there_is(via, topic, monkeypatch):
    """Both sides tell a person, each once, however often it asks."""
    monkeypatch.setattr(attending, "MAX_READERS", 0)
    monkeypatch.setattr(subscription, "SILENT_FOR_S", 0.1)
    refusing, refused = [], []
    with (
        Subscriber([topic], via=via, on_warning=refused.append) as subscriber,
        Publisher(via=via, on_warning=refusing.append) as publisher,
    ):
        publisher.publish(topic, b"x")
        eventually(lambda: refused, what="the subscriber is told")
        ((asking, _),) = subscriber._subscribing.finding.subscriptions.values()
        for _ in range(2):
            eventually(lambda before=asking.asked_at: asking.asked_at > before, what="it asks again")
        monkeypatch.setattr(attending, "MAX_READERS", 1)

        assert sequences(take(subscriber, 1)) == [1]

        assert refused == [
            f"topic {topic!r}: publisher-{publisher.id} has 0 readers already; asking again until there is room"
        ]
        assert refusing == [
            f"topic {topic!r}: subscriber {subscriber.id} was refused, and so is everybody until a reader leaves: "
            f"publisher-{publisher.id} has 0 readers, and serves no more"
        ]


def test_a_payload_weighs_what_its_bytes_do(topic):
    """Not as much as it has items: more than fits is not taken in."""
    payload = memoryview(array("Q", bytes(80_000)))
    with Publisher(via=["127.0.0.1:1"], block_s=0.1, patience_s=0.1) as publisher:
        for _ in range(3):
            publisher.publish(topic, payload)

        outbox = publisher._outboxes[topic]
        assert outbox.weight == 3 * (payload.nbytes + SAMPLE_OVERHEAD_BYTES) < PENDING_BYTES
        with pytest.raises(Exception, match="not delivered"):
            publisher.close(0.05)


class Rude:
    """A publisher that sends as much as it likes. It is registered for a topic; `hear` skips to a kind of message."""

    def __init__(self, ring, topic, router):
        self._ring = ring
        self._router = router
        self._route = b""
        if not router.get(zmq.LAST_ENDPOINT).strip(b"\0"):
            router.bind("tcp://127.0.0.1:*")
        self.address = router.get(zmq.LAST_ENDPOINT).decode().removeprefix("tcp://").strip("\0")
        self._origin = Origin(topic, IdentifierSpace().key(topic), 7)

    def register(self, address):
        record = messages.PublisherRecord(address, Profile())
        self._ring.put(self._origin.topic, f"{PUBLISHER}{hexadecimal(7)}", messages.encode(record), 30.0)

    def hear(self, kind):
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline:
            self._route, frame = self._router.recv_multipart()
            message = messages.from_subscriber(frame)
            if isinstance(message, kind):
                return message
        raise AssertionError(f"no {kind} came")

    def hear_of(self, topic):
        while (asked := self.hear(Subscribe)).topic != topic:
            continue
        return asked

    def say_after(self, kind, answer):
        self.say(answer(self.hear(kind)))

    def say(self, message):
        self._router.send_multipart([self._route, messages.encode(message)])

    def send(self, first, payloads, times_us=()):
        frame = encode(self._origin, first, payloads, times_us or [0] * len(payloads))
        self._router.send_multipart([self._route, frame])


def test_the_queue_of_a_subscriber_is_bounded_whatever_a_publisher_sends(via, topic):
    """What overflows is dropped, and asked for once the application has taken what was there."""
    payload = bytes(256 * 1024)
    with (
        zmq.Context() as context,
        context.socket(zmq.ROUTER) as router,
        RingClient(via) as ring,
        Subscriber([topic], via=via) as subscriber,
    ):
        router.set(zmq.LINGER, 0)
        router.set(zmq.RCVTIMEO, int(DEADLINE_S * 1000))
        rude = Rude(ring, topic, router)
        rude.register(rude.address)
        stream = rude.hear(Subscribe).stream
        rude.say(Subscribed(stream, 0))
        for sequence in range(1, 101):
            rude.send(sequence, [payload])
        rude.say(Heartbeat(999, 0))
        assert rude.hear(Unsubscribe).stream == 999

        taken = sequences(take(subscriber, UNTAKEN_BYTES // len(payload)))
        again = rude.hear(Subscribe)
        assert again.after in (UNTAKEN_BYTES // len(payload), UNTAKEN_BYTES // len(payload) + 1)
        rude.say(Subscribed(again.stream, again.after))
        rude.send(again.after + 1, [payload])
        taken += sequences(take(subscriber, again.after + 1 - len(taken)))
        assert taken == list(range(1, again.after + 2))
        assert subscriber.lost == 0


@pytest.mark.parametrize(("first", "times_us"), [(2**64 - 1, [0, 0]), (1, [2**64 - 1, 1])], ids=["first", "time"])
def test_a_batch_of_numbers_beyond_all_measure_costs_a_subscriber_nothing(via, topic, tmp_path, first, times_us):
    """Nothing can be said of it, in an acknowledgement or in a trace, so it is as if it had not come."""
    with (
        zmq.Context() as context,
        context.socket(zmq.ROUTER) as router,
        RingClient(via) as ring,
        Subscriber([topic], via=via, reliability="best_effort", trace=tmp_path) as subscriber,
    ):
        router.set(zmq.LINGER, 0)
        router.set(zmq.RCVTIMEO, int(DEADLINE_S * 1000))
        rude = Rude(ring, topic, router)
        rude.register(rude.address)
        rude.say_after(Subscribe, lambda asked: Subscribed(asked.stream, 0))
        rude.send(first, [b"forged", b"forged"], times_us)
        rude.send(1, [b"x"])

        assert [sample.payload for sample in take(subscriber, 1)] == [b"x"]
        eventually(lambda: rude.hear(Ack).received == 1, what="it is acknowledged")


def test_a_publisher_is_looked_for_where_the_ring_says_once_it_is_silent(via, topic):
    """The first address that the ring named was wrong; the samples go on where they were, and nothing is lost."""
    with (
        zmq.Context() as context,
        context.socket(zmq.ROUTER) as router,
        context.socket(zmq.ROUTER) as moved,
        RingClient(via) as ring,
        Subscriber([topic], via=via) as subscriber,
    ):
        for each in (router, moved):
            each.set(zmq.LINGER, 0)
            each.set(zmq.RCVTIMEO, int(DEADLINE_S * 1000))
        before, after = Rude(ring, topic, router), Rude(ring, topic, moved)
        before.register("127.0.0.1:1")
        eventually(lambda: subscriber.publishers, what="the wrong address is tried")
        before.register(before.address)
        before.say_after(Subscribe, lambda asked: Subscribed(asked.stream, 0))
        before.send(1, [b"x"])
        assert sequences(take(subscriber, 1)) == [1]

        after.register(after.address)
        asked = after.hear(Subscribe)
        assert asked.after == 1
        after.say(Subscribed(asked.stream, 1))
        after.send(2, [b"y"])
        assert sequences(take(subscriber, 1)) == [2]
        assert subscriber.publishers == [(topic, hexadecimal(7))]


def test_a_subscriber_that_can_connect_to_nobody_says_so_once_and_tries_again(via, topic, monkeypatch):
    """As one that is out of descriptors, until some are free."""
    tried = []

    def out_of_descriptors(_context, _kind):
        tried.append(1)
        raise zmq.ZMQError(errno.EMFILE)

    warnings = []
    with (
        Subscriber([topic], via=via, on_warning=warnings.append) as subscriber,
        Publisher(via=via) as publisher,
        monkeypatch.context() as patch,
    ):
        patch.setattr(finding, "make_socket", out_of_descriptors)
        publisher.publish(topic, b"x")
        eventually(lambda: len(tried) > 1, what="it tries again")
        patch.undo()

        assert sequences(take(subscriber, 1)) == [1]
        (warning,) = warnings
        named = (
            f"topic {topic!r}: publisher {publisher.id} at {publisher.address} cannot be connected to: Too many open"
        )
        assert warning.startswith(named)


def test_a_publisher_that_is_let_go_and_speaks_again_is_told_no_good_bye(via, topic):
    """Of one topic: the connection serves another. It would take the good-bye for leave to drop what is lacking."""
    with (
        zmq.Context() as context,
        context.socket(zmq.ROUTER) as router,
        RingClient(via) as ring,
        Subscriber([topic, f"{topic}-b"], via=via) as subscriber,
    ):
        router.set(zmq.LINGER, 0)
        router.set(zmq.RCVTIMEO, int(DEADLINE_S * 1000))
        rude, other = Rude(ring, topic, router), Rude(ring, f"{topic}-b", router)
        rude.register(rude.address)
        stream = rude.hear(Subscribe).stream
        rude.say(Subscribed(stream, 0))
        rude.send(1, [b"x"])
        take(subscriber, 1)
        other.register(rude.address)
        rude.hear_of(f"{topic}-b")

        ring.delete(topic, f"{PUBLISHER}{hexadecimal(7)}")
        eventually(lambda: len(subscriber.publishers) == 1, what="the silent one is let go")
        rude.say(Heartbeat(stream, 2))
        rude.say(Heartbeat(999, 0))
        assert rude.hear(Unsubscribe).stream == 999

        rude.register(rude.address)
        assert rude.hear_of(topic).after == 1


def test_a_subscriber_that_closes_follows_no_publisher_any_more(via, topic):
    """The ring still tells it of new ones while it takes the entries off; some are where nobody answers."""
    silent, fresh = "127.0.0.1:1", "127.0.0.1:2"
    with zmq.Context() as context, context.socket(zmq.ROUTER) as router, RingClient(via) as ring:
        Rude(ring, topic, router).register(silent)
        subscriber = Subscriber([topic], via=via)
        eventually(lambda: subscriber.publishers, what="the silent publisher is tried")
        finish, changed = subscriber._io.finish, subscriber._io.changed

        def finish_and_hear():
            operations = finish()
            for number, address in enumerate((silent, fresh), 8):
                value = messages.encode(messages.PublisherRecord(address, Profile()))
                changed(Entry(topic, f"{PUBLISHER}{hexadecimal(number)}", 1, value, 10.0))
            return operations

        subscriber._io.finish = finish_and_hear
        subscriber.close()

        assert not {hexadecimal(8), hexadecimal(9)} & {publisher for _, publisher in subscriber.publishers}


def test_a_message_of_many_frames_costs_no_memory(via, topic, dealer):
    """It is read past, and the next one is heard."""
    with Publisher(via=via) as publisher:
        publisher.advertise(topic)
        dealer.connect(f"tcp://{publisher.address}")
        wanted = messages.encode(Subscribe(1, topic, int(publisher.id, 16), "r", Profile()))
        tracemalloc.start()
        try:
            for number in range(50_000):
                dealer.send(b"%06d" % number, zmq.SNDMORE)
            dealer.send(b"")
            dealer.send(wanted)
            assert answer(dealer, Subscribed) == Subscribed(1, 0)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 1_000_000
        dealer.send(messages.encode(messages.Unsubscribe(1)))
