"""All streams of a broker: what it says to their sources, and what it must not say."""

from __future__ import annotations

import pytest

from broker import streams as module
from broker.streams import ASK_AGAIN_S, Streams
from pubsub.messages import Ack, Gone, Heartbeat, NoRoom, Subscribe, Subscribed, Unsubscribe
from pubsub.zone_view import Fence
from tests.unit.broker.outsides import PRODUCER, SOURCE, Outside, batch, led


@pytest.fixture
def outside():
    return Outside()


@pytest.fixture
def streams(outside):
    return Streams(outside)


def test_what_comes_from_elsewhere_is_dropped(streams):
    """A stream is read at one address; what an old source sends is not mixed in."""
    stream = led(streams, newest=1)

    assert streams.on_batch("elsewhere:1", batch(2, 2), 0.0) is None
    assert streams.on_batch("p:1", batch(2, 2), 0.0) is stream


def test_a_gap_is_asked_for_once(streams, outside):
    """From the next sample on."""
    led(streams, newest=1)
    for sequence in (4, 5):
        streams.on_batch("p:1", batch(sequence, sequence), 0.0)

    assert [asked.after for asked in outside.asked_for(Subscribe)] == [1]


def test_a_batch_of_a_deposed_primary_is_dropped(streams):
    """Of another zone's, or, at a backup, of its own zone's."""
    stream = led(streams)
    fence = Fence()
    fence.admits(5)
    stream.read("y:1", "zone/z", fence, 3, 0.0)

    assert streams.on_batch("y:1", batch(1, 1, zone_epoch=4), 0.0) is None
    assert streams.on_batch("y:1", batch(1, 1, zone_epoch=5), 0.0) is stream
    assert streams.on_message("y:1", Heartbeat(stream.number, 9, 0, 4), 0.0) is None


def test_a_source_that_knows_no_more_of_it_is_asked_once_more(streams, outside):
    """It may only have forgotten us. Its answer ends the matter."""
    stream = led(streams, newest=2)
    streams.on_message("p:1", Gone(stream.number), 1.0)
    assert [asked.after for asked in outside.asked_for(Subscribe)] == [2]
    assert stream.ended_at == 1.0

    streams.on_message("p:1", Gone(stream.number), 1.0 + ASK_AGAIN_S / 2)
    assert outside.asked_for(Subscribe) == []
    streams.on_message("p:1", Subscribed(stream.number, 2, 2), 1.2)
    assert stream.ended_at is None


def test_a_stream_that_is_let_go_is_said_good_bye_to(streams, outside):
    """Again when its source goes on, for the good-bye may have been lost."""
    stream = led(streams, newest=2)
    streams.remove(stream, good_bye=True)
    streams.on_message("p:1", Heartbeat(stream.number, 2), 0.0)

    assert outside.asked_for(Unsubscribe) == [Unsubscribe(stream.number)] * 2
    assert outside.forgotten == [stream]


def test_a_deposed_primary_says_no_good_bye_to_anybody(streams, outside):
    """The next one reads in the name of the same zone, and is to get what this one's backups lack."""
    old = led(streams, newest=2)
    streams.clear()
    streams.on_message("p:1", Heartbeat(old.number, 2), 0.0)
    assert outside.asked_for(Unsubscribe) == []

    new = led(streams, newest=2)
    streams.remove(new, good_bye=False)
    streams.on_message("p:1", Heartbeat(new.number, 2), 0.0)
    assert outside.asked_for(Unsubscribe) == [Unsubscribe(new.number)]


def test_sources_hear_how_far_streams_are(streams, outside):
    """When that is news, and once a second."""
    led(streams, newest=2)
    streams.tick(1.0)
    streams.acknowledge(1.0)
    assert [(ack.received, ack.safe) for ack in outside.asked_for(Ack)] == [(2, 0)]
    streams.acknowledge(1.1)
    assert outside.asked_for(Ack) == []

    streams.tick(2.1)
    streams.acknowledge(2.1)
    assert len(outside.asked_for(Ack)) == 1


def test_a_silent_source_is_asked_again(streams, outside):
    """But not one that has ended."""
    stream = led(streams, newest=2)
    streams.tick(5.0)
    assert len(outside.asked_for(Subscribe)) == 1

    stream.ended_at = 5.0
    streams.tick(10.0)
    assert outside.asked_for(Subscribe) == []


def test_that_there_are_too_many_streams_is_said_once(streams, outside, monkeypatch):
    """Nobody is relayed then that was not before."""
    monkeypatch.setattr(module, "MAX_STREAMS", 1)
    assert streams.add("t", PRODUCER, SOURCE) is not None

    assert [streams.add("t", producer, SOURCE) for producer in (8, 9)] == [None, None]
    assert len(outside.warnings) == 1


def test_that_a_source_has_no_room_is_said_once(streams, outside):
    """It is asked again by the clock."""
    stream = led(streams)
    for _ in range(2):
        streams.on_message("p:1", NoRoom(stream.number, "full"), 0.0)

    assert len(outside.warnings) == 1


def test_only_streams_that_are_primed_serve_readers(streams):
    """Whoever waits for another one is not given up for not having come."""
    primed = led(streams, newest=1)
    streams.add("t", 8, SOURCE)

    assert streams.primed == [primed]
