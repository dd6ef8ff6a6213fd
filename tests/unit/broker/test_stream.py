"""One topic of one producer in a broker: where it begins, when it serves readers, and what its source may forget."""

from __future__ import annotations

import pytest

from broker.stream import TELL_BYTES, Pending, Stream
from broker.streams import Streams
from pubsub.batch import Batch
from pubsub.limits import BUFFER_BYTES, SAMPLE_OVERHEAD_BYTES
from pubsub.messages import PublisherRecord, Subscribe, Subscribed
from pubsub.profile import Profile
from pubsub.zone_view import Fence
from tests.unit.broker.outsides import OFFERED, PRODUCER, SOURCE, Outside, backup_has, batch, led


@pytest.fixture
def outside():
    return Outside()


@pytest.fixture
def streams(outside):
    return Streams(outside)


def reads(stream, name="r", after=None):
    """A subscriber comes."""
    return stream.writer.subscribe(name.encode(), Subscribe(2, "t", PRODUCER, name, Profile(), after), 0.0)


def safe(stream, *brokers):
    stream.settle_up([f"backup/{broker}" for broker in brokers])
    return stream.upstream.safe


def test_a_stream_is_primed_once_it_has_what_its_source_had(streams):
    """A late reader's history is counted from the newest, which has to be there."""
    stream = led(streams, began_after=2)
    assert stream.primed

    other = Stream(9, "t", PRODUCER, SOURCE, 0.0)
    other.read("p:1", "zone/z", Fence(), 3, 0.0)
    other.on_subscribed(Subscribed(9, 2, 4), 0.0)
    other.take(batch(3, 3), 0.0)
    assert not other.primed
    other.take(batch(4, 4), 0.0)
    assert other.primed


def test_a_source_that_does_not_send_what_it_said_is_not_waited_for(streams):
    """The second heartbeat after its answer ends the waiting; one before the answer counts for nothing."""
    stream = streams.add("t", PRODUCER, SOURCE)
    stream.read("p:1", "zone/z", Fence(), 3, 0.0)
    stream.on_heartbeat()
    stream.on_heartbeat()
    stream.on_subscribed(Subscribed(1, 0, 4), 0.0)
    stream.on_heartbeat()
    assert not stream.primed

    stream.on_heartbeat()
    assert stream.primed


def test_history_goes_over_into_live_samples_without_a_seam(streams):
    """The batch that the history begins in is kept whole; the sequences are the producer's."""
    stream = led(streams, began_after=26)
    stream.take(batch(21, 30), 0.0)
    stream.take(batch(31, 31), 0.0)

    assert [(kept.first, kept.last) for kept in stream.writer.log] == [(21, 30), (31, 31)]
    assert reads(stream, after=28)[1] == 28
    assert stream.take(batch(21, 30), 0.0) is False


def test_what_a_best_effort_source_lost_is_a_hole(streams):
    """The samples after it are kept under their own sequences, and whoever is before it goes on after it."""
    best_effort = Profile("best_effort")
    stream = streams.add("t", PRODUCER, PublisherRecord("p:1", best_effort, "z"))
    stream.read("p:1", "zone/z", Fence(), 3, 0.0)
    stream.on_subscribed(Subscribed(1, 0), 0.0)
    stream.take(batch(1, 2), 0.0)

    assert stream.take(batch(5, 6), 0.0)

    assert [(kept.first, kept.last) for kept in stream.writer.log] == [(1, 2), (5, 6)]
    asked = Subscribe(2, "t", PRODUCER, "r", best_effort, 2)
    assert stream.writer.subscribe(b"r", asked, 0.0)[1] == 4


def test_whoever_takes_over_stamps_what_it_has(streams):
    """Readers that have heard of the new epoch would drop it otherwise; the checksum leaves the epoch out."""
    stream = led(streams, newest=2)

    stream.lead(9)
    stream.take(batch(3, 3), 0.0)

    assert [Batch(bytes(kept.frame)).zone_epoch for kept in stream.writer.log] == [9, 9, 9]


def test_a_little_that_became_safe_waits_for_what_else_there_is_to_tell(streams):
    """Much is told at once."""
    stream = led(streams, newest=1)
    reads(stream)
    assert safe(stream) == 1
    assert not stream.upstream.ack_now

    enough = 1 + TELL_BYTES // SAMPLE_OVERHEAD_BYTES
    stream.take(batch(2, enough), 0.0)
    assert safe(stream) == enough
    assert stream.upstream.ack_now


def test_what_the_source_asked_about_is_told_as_soon_as_all_of_it_is_safe(streams):
    """Its application waits for that."""
    stream = led(streams, newest=2)
    reads(stream)
    backup_has(stream, "b", 0)
    stream.upstream.on_heartbeat(2, 0.0)
    stream.on_heartbeat()
    stream.upstream.ack(0.0)

    backup_has(stream, "b", 1)
    safe(stream, "b")
    assert not stream.upstream.ack_now

    backup_has(stream, "b", 2)
    safe(stream, "b")
    assert stream.upstream.ack_now


def test_only_what_every_backup_has_is_safe(streams):
    """Whatever the readers have: a backup that has not come yet has nothing."""
    stream = led(streams, newest=5)
    stream.fresh = False
    backup_has(stream, "b", 4)
    backup_has(stream, "c", 2)

    assert safe(stream, "b", "c") == 2
    assert safe(stream, "b", "c", "d") == 2
    backup_has(stream, "c", 5)
    assert safe(stream, "b", "c", "d") == 2
    assert safe(stream, "b", "c") == 4
    assert safe(stream) == 5


def test_the_source_of_a_fresh_stream_keeps_all_until_the_first_readers_are_there(streams):
    """A broker that is alone may crash before they are."""
    stream = streams.add("t", PRODUCER, SOURCE)
    stream.lead(3)
    stream.read("p:1", "zone/z", Fence(), 3, 0.0)
    stream.on_subscribed(Subscribed(1, 0), 0.0)
    stream.take(batch(1, 3), 0.0)
    assert safe(stream) == 0
    stream.writer.settle(["r"], 0.0)
    assert safe(stream) == 0

    reads(stream)
    assert safe(stream) == 3


def test_a_new_reading_gives_leave_to_forget_nothing(streams):
    """What the others have is not known to a new primary, nor to one whose source has another primary."""
    stream = led(streams, newest=5)
    assert safe(stream) == 5

    asked = stream.read("p:2", "zone/z", Fence(), 4, 1.0)

    assert (asked.after, asked.reader, asked.reader_epoch) == (5, "zone/z", 4)
    assert stream.upstream.safe == 0


def test_a_backup_reads_all_that_its_primary_keeps(streams):
    """Whoever takes over needs it."""
    stream = streams.add("t", PRODUCER, SOURCE)

    asked = stream.read("a:1", "backup/b", Fence(), 0, 0.0)

    assert (asked.after, asked.earlier, stream.upstream.safe) == (None, True, None)


def test_the_source_waits_for_the_slowest_reader(streams):
    """Samples that it lacks count as taken only as far as the buffer goes."""
    stream = led(streams)
    reader, _ = reads(stream)
    for sequence, weight in ((1, BUFFER_BYTES // 2), (2, BUFFER_BYTES // 2), (3, 1)):
        taken = batch(sequence, sequence)
        stream.take(taken, 0.0)
        stream.writer.log.weight += weight
        stream.settle_up(())

        assert stream.upstream.taken == min(sequence, 1), sequence

    reader.received_weight = stream.writer.log.weight
    stream.settle_up(())
    assert stream.upstream.taken == 3


def test_a_stream_is_done_when_every_reader_that_is_awaited_has_everything(streams):
    """Who waits for it to be primed counts too."""
    stream = led(streams, newest=2)
    assert stream.is_done()

    reader, _ = reads(stream, after=0)
    assert not stream.is_done()
    stream.writer.remove(reader.name)
    stream.pending["r"] = Pending(b"r", Subscribe(2, "t", PRODUCER, "r", OFFERED), 0.0)
    assert not stream.is_done()


def test_a_backup_is_no_reader_of_a_stream(streams):
    """It does not keep a stream of elsewhere alive that nobody else reads."""
    stream = led(streams, newest=1)
    backup_has(stream, "b", 1)
    assert stream.readers == 0

    reads(stream)
    assert stream.readers == 1
