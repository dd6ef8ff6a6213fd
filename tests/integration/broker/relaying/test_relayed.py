"""What subscribers of a zone get, and when: late ones, busy ones, those of odd topics, those before any broker."""

from __future__ import annotations

import signal
import threading
import unicodedata

import pytest

from pubsub.client import Publisher, Sample, Subscriber, WindowFull
from tests.integration.broker.traffic import Writing
from tests.integration.broker.zones import Ground, Zone
from tests.waiting import eventually

PATIENCE_S = 20.0
BUSY_FOR = 800
"""Samples that a busy subscriber takes nothing of, at the pace of `Writing`: two seconds."""


def take(subscriber: Subscriber, count: int) -> list[int]:
    """The sequences of the next `count` samples."""
    taken: list[int] = []
    while len(taken) < count:
        sample = subscriber.receive(PATIENCE_S)
        assert sample is not None, f"only {taken} of {count} samples came"
        taken.append(sample.sequence)
    return taken


def reads(subscriber: Subscriber) -> bool:
    """Whether it has been told where the samples of its one publisher begin."""
    held = [subscription for subscription, _ in subscriber._subscribing.finding.subscriptions.values()]
    return bool(held) and all(subscription.next is not None for subscription in held)


@pytest.mark.parametrize(("offered", "requested"), [(10, 4), (10, 10), (4, 0)])
def test_a_late_joiner_gets_the_history_and_then_the_stream(zone: Zone, offered: int, requested: int):
    """The last min(offered, requested), the same right after a failover, and then what is published."""
    zone.grow(2)
    with zone.publisher(history=offered) as writer:
        for _ in range(30):
            writer.publish(zone.name, b"x")
        writer.flush()
        expected = list(range(31 - requested, 31))

        with zone.subscriber(history=requested) as late:
            assert take(late, requested) == expected
            eventually(lambda: reads(late))
            zone.harm(signal.SIGKILL)
            with zone.subscriber(history=requested) as later:
                assert take(later, requested) == expected
                eventually(lambda: reads(later))
                assert zone.epoch == 2
                for _ in range(5):
                    writer.publish(zone.name, b"live")
                writer.flush()
                assert take(late, 5) == take(later, 5) == [31, 32, 33, 34, 35]
                assert late.receive(0.0) is later.receive(0.0) is None


@pytest.mark.parametrize("requested", [0, 2])
def test_a_late_joiner_that_came_before_the_brokers_is_a_late_joiner(ground: Ground, zone: Zone, requested: int):
    """The publisher was there first, however late the subscriber comes to know of a primary."""
    with Publisher(via=ground.via, history=4) as writer:
        for _ in range(30):
            writer.publish(zone.name, b"x")
        writer.flush()
        with zone.subscriber(history=requested) as late:
            zone.grow(1)
            assert take(late, requested) == list(range(31 - requested, 31))
            eventually(lambda: reads(late))
            writer.publish(zone.name, b"live")
            assert take(late, 1) == [31]


def test_both_sides_are_told_of_profiles_that_do_not_match(zone: Zone):
    """Through the zone, the publisher too, which the reader never spoke to; another reader is served."""
    zone.grow(1)
    with zone.publisher(history=2) as writer:
        writer.publish(zone.name, b"x")
        with zone.subscriber(history=3) as greedy, zone.subscriber(history=1) as modest:
            assert take(modest, 1) == [1]
            eventually(lambda: greedy.mismatches and writer.mismatches)
            assert (greedy.mismatches[0].other, writer.mismatches[0].other) == (writer.id, greedy.id)
            for mismatch in (*greedy.mismatches, *writer.mismatches):
                assert mismatch.policies == ("history",)
                assert mismatch.text == "history: offered 2, requested 3"
            writer.publish(zone.name, b"y")
            writer.flush()
            assert take(modest, 1) == [2]
            assert greedy.receive(0.0) is None


@pytest.mark.parametrize("padding", [0, 64 * 1024])
def test_an_application_that_takes_nothing_for_two_seconds_loses_nothing(zone: Zone, padding: int):
    """Right after the primary was killed; with large samples, until the publisher has to wait for it."""
    zone.grow(2)
    with (
        zone.subscriber() as reader,
        zone.publisher() as writer,
        Writing(writer, zone.name, padding=padding) as writing,
    ):
        assert take(reader, 20) == list(range(1, 21))
        zone.harm(signal.SIGKILL)
        zone.wait_epoch(1)
        mark = writing.count

        eventually(lambda: writing.count >= mark + BUSY_FOR or writing.stands_still(), PATIENCE_S)

        taken = take(reader, writing.count - 20)
        writing.stop()
        taken += take(reader, writing.count - 20 - len(taken))
        assert taken == list(range(21, writing.count + 1))
        assert reader.lost == 0


def test_a_callback_that_takes_two_seconds_loses_nothing(zone: Zone):
    """It blocks the subscriber's I/O thread right after the primary was killed."""
    zone.grow(2)
    taken: list[int] = []
    killed, may_go_on = threading.Event(), threading.Event()

    def on_sample(sample: Sample) -> None:
        if killed.is_set():
            may_go_on.wait(PATIENCE_S)
        taken.append(sample.sequence)

    with (
        zone.subscriber(on_sample=on_sample) as reader,
        zone.publisher() as writer,
        Writing(writer, zone.name) as writing,
    ):
        eventually(lambda: len(taken) > 20)
        zone.harm(signal.SIGKILL)
        zone.wait_epoch(1)
        eventually(lambda: zone.primary.events("serving"))
        killed.set()
        mark = writing.count
        eventually(lambda: writing.count >= mark + BUSY_FOR, PATIENCE_S)
        may_go_on.set()

        writing.stop()
        writer.flush(PATIENCE_S)
        eventually(lambda: len(taken) >= writing.count, PATIENCE_S)
        assert taken == list(range(1, writing.count + 1))
        assert reader.lost == 0


def test_a_publisher_waits_for_a_zone_without_brokers(zone: Zone):
    """Once its buffer is full it says whom it waits for; everything that it took arrives when a broker comes."""
    with zone.subscriber() as reader, zone.publisher(block_s=0.5) as writer:
        payload = bytes(256 * 1024)
        published = 0
        with pytest.raises(WindowFull, match=rf"was not published within 0\.5 s: .*zone/{zone.name} has not connected"):
            while True:
                published = writer.publish(zone.name, payload)
        assert published >= 8 * 1024 * 1024 // len(payload) - 1

        zone.grow(1)

        writer.flush(PATIENCE_S)
        assert take(reader, published) == list(range(1, published + 1))
        assert writer.publish(zone.name, b"more") == published + 1
        assert take(reader, 1) == [published + 1]


ODD = [
    "with a space",
    "\N{PARTY POPPER}",
    "x" * 255,
    "zones",
    "zone/{zone}",
    "zone/{zone}/clients",
    "pub/0123456789abcdef/x",
    "sub/x",
    "topics/00",
    "backup/x",
    "A",
    "AB",
    "cafe\u0301",
]


def test_topics_of_any_name_are_relayed(zone: Zone):
    """Each to its own subscriber and no other, before and after a failover, in composed and in decomposed form."""
    zone.grow(2)
    names = [name.replace("{zone}", zone.name) for name in ODD]
    readers = {name: zone.subscriber(unicodedata.normalize("NFC", name)) for name in names}
    try:
        with zone.publisher() as writer:
            for round_ in (1, 2):
                for name in names:
                    writer.publish(name, name.encode())
                writer.flush(PATIENCE_S)
                for name, reader in readers.items():
                    sample = reader.receive(PATIENCE_S)
                    assert sample is not None, name
                    got = (sample.topic, sample.sequence, sample.payload)
                    assert got == (unicodedata.normalize("NFC", name), round_, name.encode())
                if round_ == 1:
                    zone.harm(signal.SIGKILL)
            assert [reader.receive(0.0) for reader in readers.values()] == [None] * len(readers)
    finally:
        for reader in readers.values():
            reader.close()


def test_one_subscriber_reads_many_topics_of_a_zone(zone: Zone):
    """Each in order, across a failover."""
    zone.grow(2)
    topics = [f"{zone.name}/{number}" for number in range(20)]
    with zone.subscriber(*topics) as reader, zone.publisher() as writer:
        taken: dict[str, list[int]] = {topic: [] for topic in topics}
        for round_ in range(1, 11):
            for topic in topics:
                writer.publish(topic, b"x")
            if round_ == 5:
                zone.harm(signal.SIGKILL)
        writer.flush(PATIENCE_S)
        for _ in range(10 * len(topics)):
            sample = reader.receive(PATIENCE_S)
            assert sample is not None, taken
            taken[sample.topic].append(sample.sequence)
    assert taken == {topic: list(range(1, 11)) for topic in topics}
