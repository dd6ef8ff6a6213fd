"""Publishers and subscribers over real sockets, in one process: who gets what."""

from __future__ import annotations

import threading

import pytest

from chord.client import RingClient
from chord.effects import sleep
from chord.errors import InvalidName, LocalProtocolError, TooLarge
from pubsub import finding, keep_alive, writer
from pubsub.client import Closed, NotDelivered, NotRegistered, Publisher, Subscriber, WindowFull
from pubsub.directory import list_topics
from pubsub.limits import BUFFER_BYTES, MAX_PAYLOAD_BYTES
from tests.integration.pubsub.pubsub_waiting import DEADLINE_S, sequences, take
from tests.waiting import eventually


@pytest.mark.parametrize("payload", [b"first %d" % attempt for attempt in range(5)])
def test_a_subscriber_that_came_first_gets_the_first_sample(via, topic, payload):
    """Of a publisher that keeps no history, and publishes before it is known to anybody."""
    with Subscriber([topic], via=via) as subscriber, Publisher(via=via) as publisher:
        assert publisher.publish(topic, payload) == 1

        (sample,) = take(subscriber, 1)

    assert (sample.topic, sample.publisher, sample.sequence, sample.payload) == (topic, publisher.id, 1, payload)
    assert 0 <= sample.received_us - sample.published_us < DEADLINE_S * 1e6


def test_a_late_joiner_gets_the_history_and_then_the_stream(via, topic):
    """No gap and no duplicate at the seam, while samples are published all the time."""
    with Publisher(via=via, history=50) as publisher:
        stop = threading.Event()

        def publish():
            while not stop.is_set():
                publisher.publish(topic, b"x")

        thread = threading.Thread(target=publish)
        thread.start()
        try:
            for _ in range(5):
                with Subscriber([topic], via=via, history=20) as subscriber:
                    got = sequences(take(subscriber, 2_000))
                assert got == list(range(got[0], got[0] + 2_000))
        finally:
            stop.set()
            thread.join()


@pytest.mark.parametrize(("offered", "requested", "expected"), [(10, 4, [27, 28, 29, 30]), (4, 0, [])])
def test_a_late_joiner_gets_exactly_as_many_samples_as_it_requests(via, topic, offered, requested, expected):
    """The last min(offered, requested)."""
    with Publisher(via=via, history=offered) as publisher:
        for _ in range(30):
            publisher.publish(topic, b"x")
        publisher.flush()
        with Subscriber([topic], via=via, history=requested) as subscriber:
            assert sequences(take(subscriber, len(expected))) == expected
            publisher.wait_for_readers(topic, 1, DEADLINE_S)
            publisher.publish(topic, b"live")
            assert sequences(take(subscriber, 1)) == [31]


def test_two_publishers_on_one_topic_are_kept_apart(via, topic):
    """Each counts for itself, and each stream is whole."""
    with (
        Subscriber([topic], via=via) as subscriber,
        Publisher(via=via) as one,
        Publisher(via=via) as other,
    ):
        for number in range(100):
            one.publish(topic, b"%d" % number)
            other.publish(topic, b"%d" % number)
        samples = take(subscriber, 200)

    for publisher in (one, other):
        mine = [sample for sample in samples if sample.publisher == publisher.id]
        assert [(sample.sequence, sample.payload) for sample in mine] == [(n + 1, b"%d" % n) for n in range(100)]


def test_a_publisher_that_comes_back_is_a_new_one(via, topic):
    """With an identifier of its own, and sequences from 1."""
    with Subscriber([topic], via=via) as subscriber:
        seen = []
        for _ in range(3):
            with Publisher(via=via) as publisher:
                publisher.publish(topic, b"x")
                publisher.publish(topic, b"y")
                samples = take(subscriber, 2)
            assert sequences(samples) == [1, 2]
            seen.append(samples[0].publisher)

    assert len(set(seen)) == 3


def test_a_subscriber_that_comes_back_gets_the_history(via, topic):
    """It is a new reader."""
    with Publisher(via=via, history=3) as publisher:
        for _ in range(3):
            publisher.publish(topic, b"x")
            with Subscriber([topic], via=via, history=3) as subscriber:
                assert sequences(take(subscriber, 1)) == [1]


def test_topics_are_matched_exactly(via, topic):
    """`A` is not `AB`, nor the other way round."""
    longer = topic + "B"
    with Subscriber([topic], via=via) as short, Subscriber([longer], via=via) as long, Publisher(via=via) as publisher:
        publisher.publish(longer, b"long")
        publisher.publish(topic, b"short")
        publisher.publish(longer, b"long")
        publisher.publish(topic, b"short")

        assert [sample.payload for sample in take(short, 2)] == [b"short"] * 2
        assert [sample.payload for sample in take(long, 2)] == [b"long"] * 2


@pytest.mark.parametrize(
    ("published", "subscribed"),
    [("cafe\u0301-x", "caf\u00e9-x"), ("\N{AIRPLANE}\ufe0f", "\N{AIRPLANE}\ufe0f"), ("\u00e4" * 127 + "a",) * 2],
)
def test_any_name_is_a_topic(via, published, subscribed):
    """Composed or not, emoji, 255 bytes; several topics in one subscriber."""
    with Subscriber([subscribed, "another"], via=via) as subscriber, Publisher(via=via) as publisher:
        publisher.publish(published, b"1")
        publisher.publish(subscribed, b"2")

        assert [(sample.sequence, sample.topic) for sample in take(subscriber, 2)] == [(1, subscribed), (2, subscribed)]


@pytest.mark.parametrize("size", [0, 1, 300_000, MAX_PAYLOAD_BYTES])
def test_a_payload_of_any_size_arrives(via, topic, size):
    """Up to the limit."""
    payload = bytes(range(256)) * (size // 256) + b"z" * (size % 256)
    with Subscriber([topic], via=via) as subscriber, Publisher(via=via) as publisher:
        for _ in range(3):
            publisher.publish(topic, payload)

        assert [sample.payload == payload for sample in take(subscriber, 3)] == [True] * 3


def test_what_cannot_be_published_is_refused_and_harms_nothing(via, topic):
    """Too large, no bytes, a bad name: an error each, and the next sample has the next sequence."""
    with Subscriber([topic], via=via) as subscriber, Publisher(via=via) as publisher:
        publisher.publish(topic, b"1")
        with pytest.raises(TooLarge, match=f"at most {MAX_PAYLOAD_BYTES} bytes"):
            publisher.publish(topic, bytes(MAX_PAYLOAD_BYTES + 1))
        with pytest.raises(TypeError, match="encode the string"):
            publisher.publish(topic, "text")
        with pytest.raises(InvalidName, match="control character"):
            publisher.publish("a\nb", b"x")
        assert publisher.publish(topic, bytearray(b"2")) == 2

        assert [sample.payload for sample in take(subscriber, 2)] == [b"1", b"2"]


def test_an_incompatible_profile_is_told_to_both_sides(via, topic):
    """Which policy, what was offered and what was requested; nothing is delivered."""
    told = []
    with (
        Publisher(via=via, history=2, reliability="best_effort", on_mismatch=told.append) as publisher,
        Subscriber([topic], via=via, history=5, on_mismatch=told.append) as subscriber,
    ):
        publisher.publish(topic, b"x")
        eventually(lambda: len(told) == 2, what="both sides are told")

        for mismatch in (*publisher.mismatches, *subscriber.mismatches):
            assert mismatch.policies == ("reliability", "history")
            assert mismatch.text == (
                "reliability: offered best_effort, requested at_least_once; history: offered 2, requested 5"
            )
        assert subscriber.mismatches[0].other == publisher.id
        assert publisher.mismatches[0].other == subscriber.id
        assert subscriber.receive(0.0) is None


def test_direct_dissemination_offers_no_persistent_durability(via, topic):
    """A publisher cannot outlive itself; a reader that requests it matches nobody here."""
    with pytest.raises(LocalProtocolError, match="persistent"):
        Publisher(via=via, durability="persistent")
    with Subscriber([topic], via=via, durability="persistent") as subscriber, Publisher(via=via) as publisher:
        publisher.publish(topic, b"x")
        eventually(lambda: subscriber.mismatches, what="the reader is told")
        assert subscriber.mismatches[0].policies == ("durability",)


def test_a_busy_application_loses_nothing(via, topic):
    """Everything is received while the application does not look, and taken later."""
    with Subscriber([topic], via=via) as subscriber, Publisher(via=via) as publisher:
        for number in range(5_000):
            publisher.publish(topic, b"%d" % number)
        publisher.flush(DEADLINE_S)

        assert [sample.payload for sample in take(subscriber, 5_000)] == [b"%d" % number for number in range(5_000)]


def test_a_slow_application_holds_the_publisher_up_and_loses_nothing(via, topic):
    """Memory is bounded at both ends: the publisher gets an error that names the reader, and may go on later."""
    payload = bytes(100_000)
    with Subscriber([topic], via=via) as subscriber, Publisher(via=via, block_s=0.2) as publisher:
        published = 0
        with pytest.raises(WindowFull, match=f"{subscriber.id} has"):
            while published < 10_000:
                published = publisher.publish(topic, payload)
        assert published * len(payload) < 4 * BUFFER_BYTES

        got = sequences(take(subscriber, published))
        assert got == list(range(1, published + 1))
        assert publisher.publish(topic, payload) == published + 1
        assert sequences(take(subscriber, 1)) == [published + 1]
        assert subscriber.lost == 0


def test_a_subscriber_that_closes_lets_a_blocked_publisher_go_on(via, topic):
    """It is nobody's reader any more."""
    payload = bytes(100_000)
    with Publisher(via=via, block_s=DEADLINE_S) as publisher:
        subscriber = Subscriber([topic], via=via)
        publisher.advertise(topic)
        publisher.wait_for_readers(topic, 1, DEADLINE_S)
        published = threading.Event()

        def publish():
            for _ in range(400):
                publisher.publish(topic, payload)
            published.set()

        thread = threading.Thread(target=publish)
        thread.start()
        assert not published.wait(0.3)

        subscriber.close()
        assert published.wait(DEADLINE_S)
        thread.join()


def test_a_best_effort_reader_holds_nobody_up_and_counts_what_it_lost(via, topic):
    """Never silently: received and lost make up what was published."""
    payload = bytes(100_000)
    with (
        Subscriber([topic], via=via, reliability="best_effort") as subscriber,
        Publisher(via=via, block_s=DEADLINE_S) as publisher,
    ):
        publisher.advertise(topic)
        publisher.wait_for_readers(topic, 1, DEADLINE_S)
        for _ in range(400):
            publisher.publish(topic, payload)
        received = []

        def all_is_accounted_for():
            received.extend(sequences(subscriber.receive_batch(0.01)))
            return received and received[-1] == 400

        eventually(all_is_accounted_for, what="the last sample comes")

        assert received == sorted(set(received))
        assert subscriber.lost == 400 - len(received) > 0


def test_samples_may_be_called_back(via, topic):
    """In order, without anybody asking for them."""
    got = []
    with Subscriber([topic], via=via, on_sample=got.append), Publisher(via=via) as publisher:
        for _ in range(1_000):
            publisher.publish(topic, b"x")
        eventually(lambda: len(got) == 1_000, what="all are called back")

    assert sequences(got) == list(range(1, 1_001))


def test_a_callback_that_blocks_for_long_loses_nothing(via, topic, monkeypatch):
    """Longer than its publisher waits for a silent reader: somebody says for it that it lives."""
    monkeypatch.setattr(writer, "SILENT_FOR_S", 0.8)
    monkeypatch.setattr(keep_alive, "EVERY_S", 0.1)
    got = []
    called, may_return = threading.Event(), threading.Event()

    def on_sample(sample):
        got.append(sample.sequence)
        called.set()
        may_return.wait(DEADLINE_S)

    with Subscriber([topic], via=via, on_sample=on_sample) as subscriber, Publisher(via=via) as publisher:
        publisher.publish(topic, b"x")
        assert called.wait(DEADLINE_S)
        for _ in range(30):
            publisher.publish(topic, bytes(100_000))
        with pytest.raises(NotDelivered):
            publisher.flush(2.0)
        assert publisher.readers(topic) == 1
        may_return.set()
        publisher.flush(DEADLINE_S)
        eventually(lambda: len(got) == 31, what="all are called back")

        assert got == list(range(1, 32))
        assert subscriber.lost == 0


def test_an_error_of_a_callback_is_raised_when_the_subscriber_closes(via, topic):
    """And ends nothing else: the publisher still gets rid of its samples."""
    called = []

    def fail(sample):
        called.append(sample.sequence)
        raise ValueError("no such flight")

    subscriber = Subscriber([topic], via=via, on_sample=fail)
    with Publisher(via=via) as publisher:
        for _ in range(10):
            publisher.publish(topic, b"x")
        publisher.flush(DEADLINE_S)

    with pytest.raises(ValueError, match="no such flight"):
        subscriber.close()
    assert called == [1]


def test_a_subscriber_whose_callback_failed_holds_nobody_up(via, topic):
    """It says so once, is off the ring, and is nobody's reader: what it does not take is not taken to be delivered."""
    payload = bytes(100_000)
    told, warned = [], []

    def fail(_sample):
        raise ValueError("no such flight")

    subscriber = Subscriber([topic], via=via, on_sample=fail, on_warning=told.append)
    with Publisher(via=via, block_s=DEADLINE_S, on_warning=warned.append) as publisher, RingClient(via) as ring:
        publisher.publish(topic, b"x")
        eventually(lambda: told, what="it says that it failed")
        eventually(lambda: publisher.readers(topic) == 0, what="it leaves its publisher")
        eventually(lambda: len(ring.get(topic)) == 1, what="its entry comes off the ring")
        for _ in range(4 * BUFFER_BYTES // len(payload)):
            publisher.publish(topic, payload)
        publisher.flush(DEADLINE_S)

        assert subscriber.publishers == []
        assert publisher.readers(topic) == 0
    with pytest.raises(ValueError, match="no such flight"):
        subscriber.close()
    assert told == [
        f"subscriber {subscriber.id} receives nothing more, its on_sample failed: ValueError('no such flight')"
    ]
    assert warned == []


def test_a_callback_may_fail_before_every_topic_is_registered(via, topic, monkeypatch):
    """Nobody waits for a registration that will not come any more."""
    keep_subscriber = finding.keep_subscriber

    def keep(ring, registration, found):
        return keep_subscriber(ring, registration, found) if registration.topic == topic else sleep(DEADLINE_S)

    def fail(_sample):
        raise ValueError("no such flight")

    monkeypatch.setattr(finding, "keep_subscriber", keep)
    with Publisher(via=via, history=1) as publisher:
        publisher.publish(topic, b"x")
        publisher.flush(DEADLINE_S)
        subscriber = Subscriber([topic, topic + " and another"], via=via, history=1, on_sample=fail)

    with pytest.raises(ValueError, match="no such flight"):
        subscriber.close()


def test_clients_that_close_leave_no_entry_behind(via, topic):
    """On the ring nobody has to wait for their leases."""
    with RingClient(via) as ring:
        with Subscriber([topic], via=via) as subscriber, Publisher(via=via) as publisher:
            publisher.publish(topic, b"x")
            take(subscriber, 1)
            assert [entry.entry for entry in ring.get(topic)] == [f"pub/{publisher.id}", f"sub/{subscriber.id}"]

        assert ring.get(topic) == []


def test_a_publisher_that_closes_is_dropped_by_its_subscribers(via, topic):
    """Soon, and without a word lost."""
    with Subscriber([topic], via=via) as subscriber:
        with Publisher(via=via) as publisher:
            publisher.publish(topic, b"last words")
        assert sequences(take(subscriber, 1)) == [1]
        eventually(lambda: not subscriber.publishers, what="the publisher is dropped")


def test_closed_is_closed(via, topic):
    """Using it after that is an error, closing it again is none, and an iteration ends."""
    publisher = Publisher(via=via)
    publisher.publish(topic, b"x")
    publisher.close()
    publisher.close()
    with pytest.raises(Closed, match="publisher is closed"):
        publisher.publish(topic, b"x")

    subscriber = Subscriber([topic], via=via)
    thread = threading.Timer(0.05, subscriber.close)
    thread.start()
    assert list(subscriber) == []
    thread.join()
    subscriber.close()
    with pytest.raises(Closed, match="subscriber is closed"):
        subscriber.receive(0.1)


def test_a_ring_that_does_not_answer_is_an_error(topic):
    """For a subscriber at once, for a publisher when it matters."""
    nowhere = ["127.0.0.1:1"]
    with pytest.raises(NotRegistered, match=r"no reply from 127\.0\.0\.1:1"):
        Subscriber([topic], via=nowhere, patience_s=0.1)
    publisher = Publisher(via=nowhere, patience_s=0.1)
    publisher.publish(topic, b"x")
    with pytest.raises(NotDelivered, match="is not registered on the ring"):
        publisher.close(flush_s=0.3)
    with pytest.raises(LocalProtocolError, match="no ring node is known"):
        Publisher(via=[])


def test_a_wildcard_address_needs_one_to_advertise(via):
    """Nobody can connect to 0.0.0.0 from elsewhere."""
    with pytest.raises(LocalProtocolError, match="--advertise"):
        Publisher(via=via, host="0.0.0.0")
    with Publisher(via=via, host="0.0.0.0", advertise="127.0.0.1") as publisher:
        assert publisher.address.startswith("127.0.0.1:")
    with pytest.raises(LocalProtocolError, match=r"--advertise 0\.0\.0\.0 is no address"):
        Publisher(via=via, advertise="0.0.0.0")


@pytest.mark.parametrize("cluster", ["", "x" * 65, "\ud800"])
def test_a_cluster_has_a_name(via, topic, cluster):
    """One that any node could have; else nobody would answer, and nobody would say why."""
    with pytest.raises(InvalidName, match="cluster"):
        Publisher(via=via, cluster=cluster)
    with pytest.raises(InvalidName, match="cluster"):
        Subscriber([topic], via=via, cluster=cluster)


@pytest.mark.parametrize("make", [lambda via, _: Publisher(via=via), lambda via, topic: Subscriber([topic], via=via)])
def test_an_io_thread_that_ended_is_reported_when_its_client_closes(via, topic, make):
    """What an application did not get would else look like what was not sent."""

    def fail():
        raise ZeroDivisionError("a defect")

    client = make(via, topic)
    client._io.post(fail)
    eventually(lambda: client._io.failure, what="the thread ends")

    with pytest.raises(AssertionError, match="ended: ZeroDivisionError"):
        client.close()


@pytest.mark.parametrize("awake", [True, False], ids=["at work", "about to sleep"])
def test_publishing_ends_with_the_io_thread(via, topic, awake):
    """At the next sample, on a topic that is known or a new one, not when nothing more fits."""
    publisher = Publisher(via=via)
    publisher.publish(topic, b"x")
    publisher.flush(DEADLINE_S)

    def fail(_now):
        if awake or publisher._io.idle:
            raise ZeroDivisionError("a defect")
        return False

    publisher._io.work = fail
    publisher._io.wake()
    publisher._io._thread.join(DEADLINE_S)
    for name in (topic, topic + " and another"):
        for _ in range(2):
            with pytest.raises(AssertionError, match="ended: ZeroDivisionError"):
                publisher.publish(name, b"y")
    outbox = publisher._outboxes[topic]

    assert (outbox.sequence, outbox.payloads) == (1, [])
    assert not publisher._publishing.send_at_once(outbox, b"z", 0)
    with pytest.raises(AssertionError, match="ended: ZeroDivisionError"):
        publisher.close()


def test_the_topics_of_a_ring_are_listed(via, topic):
    """Some records at a time: one after the other, 256 of them took seconds on a ring far away."""
    with Publisher(via=via) as publisher, RingClient(via) as ring:
        publisher.publish(topic, b"x")

        eventually(lambda: topic in ring.run(list_topics), what="the topic is listed")
        assert ring.run(list_topics) == sorted(ring.run(list_topics))
