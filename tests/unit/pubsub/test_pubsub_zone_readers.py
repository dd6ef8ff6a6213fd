"""Zones as readers of a writer: awaited for ever or for long, with only what is safe forgotten, and fenced by epoch."""

from __future__ import annotations

import pytest

from pubsub.messages import Ack, Subscribe
from pubsub.profile import Profile
from pubsub.writer import EXPECTED_FOR_S, SILENT_FOR_S, ZONE_AWAY_FOR_S, Writer

PRODUCER = 7


@pytest.fixture
def writer():
    made = Writer(Profile(), "zone/z")
    made.settle(["zone/z"], 0.0)
    return made


def publish(writer, count):
    for _ in range(count):
        writer.append(b"frame", 1, 100)


def reads(writer, after=None, epoch=1, name="zone/z", now=0.0):
    """A zone's primary subscribes over a route of its own, and is sent what there is."""
    asked = Subscribe(1, "t", PRODUCER, name, Profile(), after, reader_epoch=epoch)
    reader, began_after = writer.subscribe(b"primary %d" % epoch, asked, now)
    for batch in writer.due(reader):
        reader.sent(batch)
    return reader, began_after


def kept(writer):
    writer.trim()
    return [batch.first for batch in writer.log]


def test_the_zone_that_reads_for_a_publisher_is_awaited_for_ever(writer):
    """Nobody else has its samples."""
    publish(writer, 2)

    assert writer.forget_silent(10 * ZONE_AWAY_FOR_S) == ([], [])
    assert kept(writer) == [1, 2]
    assert not writer.settled


def test_the_own_zone_is_never_given_up(writer):
    """Silent, or with its connection broken, for however long."""
    publish(writer, 2)
    reader, _ = reads(writer)
    reader.detached_at = 0.0

    assert writer.forget_silent(100 * SILENT_FOR_S) == ([], [])
    assert kept(writer) == [1, 2]


def test_the_own_zone_is_awaited_again_after_a_good_bye(writer):
    """Its primary may have been wrong to let go."""
    publish(writer, 1)
    reads(writer)
    writer.remove("zone/z")
    publish(writer, 1)

    assert not writer.settled
    assert kept(writer) == [1, 2]
    assert reads(writer)[1] == 0


def test_another_zone_is_awaited_for_as_long_as_an_election_may_take():
    """A subscriber is not; whoever does not come is noted with the time that it had."""
    writer = Writer(Profile())
    writer.settle(["zone/y", "r"], 0.0)
    publish(writer, 1)

    _, subscribers = writer.forget_silent(EXPECTED_FOR_S + 0.1)
    assert [note.reader for note in subscribers] == ["r"]
    assert not writer.settled

    _, zones = writer.forget_silent(ZONE_AWAY_FOR_S + 0.1)
    assert [note.why for note in zones] == ["was registered before the publisher and did not connect within 30 s"]
    assert writer.settled


def test_another_zone_whose_connection_broke_has_as_long():
    """Its next primary comes over another one."""
    writer = Writer(Profile())
    writer.settle([], 0.0)
    reader, _ = reads(writer, name="zone/y")
    reader.detached_at = 0.0
    reader.heard_at = ZONE_AWAY_FOR_S

    assert writer.forget_silent(ZONE_AWAY_FOR_S - 0.1)[0] == []
    assert writer.forget_silent(ZONE_AWAY_FOR_S + 0.1)[0] == [reader]


def test_what_a_zone_has_received_is_kept_until_it_is_safe(writer):
    """It is on its way no more, and makes room for what follows."""
    publish(writer, 20)
    reader, _ = reads(writer)
    assert not reader.has_room

    writer.acknowledge(reader, Ack(1, 16, 16, 3, 1), 0.0)

    assert reader.has_room
    assert kept(writer)[0] == 4
    assert writer.delivered == 3


def test_a_new_primary_is_sent_what_follows_and_the_rest_is_kept(writer):
    """It may have more than the brokers have in common, and may be gone before they have it."""
    publish(writer, 6)
    reader, _ = reads(writer)
    writer.acknowledge(reader, Ack(1, 6, 6, 2, 1), 0.0)

    successor, began_after = reads(writer, after=5, epoch=2)

    assert began_after == 5
    assert kept(writer) == [3, 4, 5, 6]
    writer.acknowledge(successor, Ack(1, 6, 6, 4, 2), 0.0)
    assert kept(writer) == [5, 6]
    third, began_after = reads(writer, after=4, epoch=3)
    assert (began_after, third.number) == (4, writer.log.end)


def test_a_zone_that_was_not_known_may_lack_all_that_there_is():
    """A publisher's zone has another primary: it does not know what the reading zone's brokers have in common."""
    writer = Writer(Profile())
    publish(writer, 4)
    writer.settle([], 0.0)

    reader, began_after = reads(writer, after=3, name="zone/y")

    assert began_after == 3
    assert kept(writer) == [1, 2, 3, 4]
    writer.acknowledge(reader, Ack(1, 4, 4, 2, 1), 0.0)
    assert kept(writer) == [3, 4]


def test_the_first_primary_of_a_zone_begins_with_what_it_was_to_get(writer):
    """A second one that knows nothing begins there too."""
    publish(writer, 3)
    assert reads(writer)[1] == 0

    assert reads(writer, epoch=2)[1] == 0


def test_the_highest_epoch_of_a_zone_is_known(writer):
    """Also after its reader is gone; other readers have none."""

    def epoch_of(name, epoch):
        return writer.epoch_of(Subscribe(1, "t", PRODUCER, name, Profile(), reader_epoch=epoch))

    assert epoch_of("zone/z", 3) == 0
    assert epoch_of("zone/z", 2) == 3
    writer.remove("zone/z")
    assert epoch_of("zone/z", 5) == 3
    assert epoch_of("zone/y", 1) == 0
    assert epoch_of("r", 9) == epoch_of("r", 1) == 0
