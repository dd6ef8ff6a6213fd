"""A backup reads what its primary tells of, notices what went missing, and lets go of what is not listed any more."""

from __future__ import annotations

import pytest

from broker.backup import FOLLOW_S, LIST_AGAIN_S, SUSPECT_S, Backup
from broker.messages import Follow, StreamEntry, StreamList
from broker.place import Place
from broker.streams import Streams
from pubsub.messages import Gone, Subscribe, Unsubscribe
from pubsub.zone_view import Fence
from tests.unit.broker.outsides import SOURCE, Outside, led, term

ME = Place("b", "b:1", "z")


@pytest.fixture
def outside():
    return Outside()


@pytest.fixture
def streams(outside):
    return Streams(outside)


@pytest.fixture
def suspicions():
    return []


@pytest.fixture
def backup(outside, streams, suspicions):
    return Backup(ME, term(), streams, outside, Fence(), lambda: suspicions.append(1))


def listed(*numbers, after=0, complete=True, zone_epoch=3, producer=None):
    """A list of the primary's: each stream is of the producer of its number."""
    entries = tuple(StreamEntry(number, "t", producer or number, SOURCE) for number in numbers)
    return StreamList(zone_epoch, after, entries, complete)


def producers(streams):
    return [producer for _, producer in streams.by_key]


def test_a_backup_reads_every_stream_that_it_is_told_of(backup, streams, outside):
    """At the primary, in its own name."""
    backup.on_streams(listed(1, 2), 0.0)

    assert producers(streams) == [1, 2]
    assert {asked.reader for asked in outside.asked_for(Subscribe)} == {"backup/b"}
    assert backup.complete


def test_a_backup_asks_for_what_follows(backup, outside):
    """It is not complete until it has all; then it says twice a second that it lives."""
    backup.on_streams(listed(1, 2, complete=False), 0.0)
    assert not backup.complete
    backup.tick(0.0)
    assert outside.asked_for(Follow) == [Follow("b", "z", 3, 2)]

    backup.tick(FOLLOW_S - 0.1)
    assert outside.asked_for(Follow) == []


def test_a_list_that_went_missing_is_asked_for(backup, streams, outside):
    """The one after it says where it goes on."""
    backup.on_streams(listed(1), 0.0)
    backup.tick(0.0)
    outside.asked.clear()

    backup.on_streams(listed(3, after=2), 0.1)

    assert producers(streams) == [1]
    backup.tick(0.1)
    assert outside.asked_for(Follow) == [Follow("b", "z", 3, 1)]


def test_a_list_of_a_deposed_primary_is_none(backup, streams):
    """It may list what is gone, and lack what there is."""
    backup.on_streams(listed(1, zone_epoch=5), 0.0)
    backup.on_streams(listed(2, after=1, zone_epoch=4), 0.0)

    assert producers(streams) == [1]


def test_streams_of_a_former_primary_are_let_go_when_the_new_one_has_none_of_them(outside, streams):
    """Once it has told of all: until then they are kept, and read on where they are."""
    led(streams, newest=4, producer=1)
    led(streams, newest=4, producer=2)
    outside.asked.clear()
    backup = Backup(ME, term(epoch=4), streams, outside, Fence(), lambda: None)

    backup.on_streams(listed(1, complete=False, zone_epoch=4), 0.0)
    assert producers(streams) == [1, 2]
    assert [asked.after for asked in outside.asked_for(Subscribe)] == [4]

    backup.on_streams(listed(7, after=1, zone_epoch=4), 0.0)
    assert producers(streams) == [1, 7]
    assert outside.asked_for(Unsubscribe) == []


def test_a_stream_is_not_let_go_because_the_primary_forgot_the_reader(backup, streams, outside):
    """After a broken connection the primary knows the new one not: its list tells that the stream is there."""
    backup.on_streams(listed(1, 2), 0.0)
    stream = streams.by_number[1]
    streams.on_message("a:1", Gone(stream.number), 1.0)
    outside.asked.clear()

    backup.tick(1.0)
    assert outside.asked_for(Follow) == [Follow("b", "z", 3, 0)]
    backup.on_streams(listed(1, 2), 1.1)

    assert producers(streams) == [1, 2]
    assert stream.ended_at is None
    assert [asked.stream for asked in outside.asked_for(Subscribe)] == [stream.number]


def test_a_stream_that_is_listed_no_more_is_let_go(backup, streams):
    """A list that was on its way when the backup asked for all of them does not count."""
    backup.on_streams(listed(1, 2), 0.0)
    streams.on_message("a:1", Gone(1), 1.0)
    backup.tick(1.0)

    backup.on_streams(listed(after=2), 1.1)
    assert producers(streams) == [1, 2]

    backup.on_streams(listed(2), 1.1)
    assert producers(streams) == [2]


def test_all_streams_are_asked_for_ever_so_often_only(backup, streams, outside):
    """However many end."""
    backup.on_streams(listed(1, 2), 0.0)
    streams.on_message("a:1", Gone(1), 1.0)
    backup.tick(1.0)
    backup.on_streams(listed(1, 2), 1.0)
    streams.on_message("a:1", Gone(2), 1.2)
    outside.asked.clear()

    backup.tick(1.3)
    assert outside.asked_for(Follow) == []
    backup.tick(1.1 + LIST_AGAIN_S)
    assert outside.asked_for(Follow) == [Follow("b", "z", 3, 0)]


def test_a_silent_primary_is_suspected(backup, suspicions):
    """Any list is a sign of life."""
    backup.tick(SUSPECT_S - 0.1)
    backup.on_streams(listed(), 1.0)
    backup.tick(1.0 + SUSPECT_S - 0.1)
    assert suspicions == []

    backup.tick(1.0 + SUSPECT_S + 0.1)
    assert suspicions == [1]
