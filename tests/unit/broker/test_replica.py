"""A broker leads or follows as it is told, serves nobody else, and steps down for a higher epoch."""

from __future__ import annotations

import pytest

from broker.backup import Backup
from broker.messages import Follow, NotFollowed, StreamList
from broker.primary import ENDED_FOR_S, PENDING_FOR_S, UNHEARD_FOR_S, UNLISTED_FOR_S, UNREAD_FOR_S, Primary
from broker.replica import HEARTBEAT_S, STOOD_STILL_S, TICK_S, Replica
from broker.stream import Stream
from broker.zone_state import MAX_IN_SYNC
from pubsub.messages import (
    Ack,
    Fenced,
    Gone,
    Heartbeat,
    Heartbeats,
    NotPrimary,
    PublisherRecord,
    Subscribe,
    Subscribed,
    Unsubscribe,
)
from pubsub.profile import Profile
from pubsub.writer import EXPECTED_FOR_S
from pubsub.zones import Client
from tests.unit.broker.outsides import ME, OFFERED, PRODUCER, SOURCE, Outside, backup_has, batch, term

A_CLIENT = Client("t", PRODUCER, SOURCE)
ELSEWHERE = PublisherRecord("p:1", OFFERED, "y")


@pytest.fixture
def outside():
    return Outside()


@pytest.fixture
def replica(outside):
    return Replica(ME, "notify", outside, lambda _broker, _address: None, lambda: None)


def subscribe(reader="r", source=SOURCE, zone_epoch=0, after=None, earlier=None):
    return Subscribe(5, "t", PRODUCER, reader, Profile(), after, earlier, source, zone_epoch)


def serve(replica, *samples, reads=False):
    """Lead, and read the publisher, which has these samples; have a subscriber read them, or nobody."""
    replica.on_term(term())
    replica.role.on_clients([A_CLIENT])
    (stream,) = replica.streams.by_number.values()
    replica.on_message("p:1", Subscribed(stream.number, 0, len(samples)), 0.0)
    stream.writer.settle([], 0.0)
    for sequence in samples:
        replica.on_batch("p:1", batch(sequence, sequence), 0.0)
    if reads:
        stream.writer.subscribe(b"r", subscribe(after=0), 0.0)
    return stream


def test_a_broker_leads_or_follows_as_zookeeper_says(replica):
    """A term that is older than what was heard elsewhere is no news."""
    replica.on_term(term(epoch=3))
    assert isinstance(replica.role, Primary)

    replica.on_term(term(epoch=5, leader="b"))
    assert isinstance(replica.role, Backup)
    for stale in (term(epoch=4), term(epoch=3), term(epoch=0, leader="")):
        replica.on_term(stale)
        assert replica.role.term.epoch == 5


def test_a_term_of_the_same_epoch_changes_who_is_in_sync(replica):
    """And nothing else: the primary goes on."""
    replica.on_term(term())
    role = replica.role

    replica.on_term(term(in_sync="ab"))

    assert replica.role is role
    assert role.in_sync.waited_for == {"backup/b"}


def test_only_a_primary_serves(replica):
    """Everybody else sends readers to the ring, with the highest epoch that they have heard of."""
    assert replica.admit(b"r", subscribe(zone_epoch=2)) == NotPrimary(5, 2)
    replica.on_term(term(leader="b"))
    assert replica.admit(b"r", subscribe()) == NotPrimary(5, 3)


def test_a_backup_that_asks_for_what_has_ended_does_not_begin_it_anew(replica):
    """A reader that names a publisher does: the ring may not have told of it yet."""
    replica.on_term(term())
    assert replica.admit(b"b", subscribe("backup/b")) == Gone(5)
    assert replica.admit(b"r", subscribe(source=None)) == Gone(5)
    assert replica.streams.by_number == {}

    assert replica.admit(b"r", subscribe()) is None
    assert len(replica.streams.by_number) == 1


def test_readers_that_had_to_wait_are_admitted_once_the_past_is_there(replica, outside):
    """All of them, once."""
    replica.on_term(term())
    replica.role.on_clients([A_CLIENT])
    for reader in ("one", "two"):
        assert replica.admit(reader.encode(), subscribe(reader)) is None
    (stream,) = replica.streams.by_number.values()
    replica.on_message("p:1", Subscribed(stream.number, 0, 2), 0.0)
    replica.on_batch("p:1", batch(1, 1), 0.0)
    assert outside.readmitted == []

    assert replica.on_batch("p:1", batch(2, 2), 0.0) is stream
    assert outside.readmitted == [b"one", b"two"]
    assert isinstance(replica.admit(b"one", subscribe()), Stream)


@pytest.mark.parametrize(
    "rumour",
    [
        lambda replica, _stream: replica.admit(b"r", subscribe(zone_epoch=9)),
        lambda replica, stream: replica.on_message("p:1", Fenced(stream.number, 9), 0.0),
        lambda replica, _stream: replica.on_other(b"b", Follow("b", "z", 9, 0), 0.0),
    ],
)
def test_a_primary_asks_zookeeper_about_a_higher_epoch(replica, outside, rumour):
    """Whoever speaks of it: a reader, a publisher, a backup. It goes on until ZooKeeper says so: anybody may lie."""
    stream = serve(replica, 1, 2, reads=True)
    outside.told.clear()
    outside.asked.clear()
    looks = outside.looks

    rumour(replica, stream)

    assert outside.looks == looks + 1
    replica.on_term(term())
    assert isinstance(replica.role, Primary)
    assert list(replica.streams.by_number.values()) == [stream]
    replica.on_term(term(epoch=9, leader="b"))
    assert isinstance(replica.role, Backup)
    assert replica.streams.by_number == {}
    assert (b"r", NotPrimary(5, 9)) in outside.told
    assert outside.asked_for(Unsubscribe) == []


def test_what_is_not_heard_from_its_source_deposes_nobody(replica):
    """Fenced by somebody else, or in an epoch that is no higher."""
    stream = serve(replica, 1)
    replica.on_message("elsewhere:1", Fenced(stream.number, 9), 0.0)
    replica.on_message("p:1", Fenced(stream.number, 3), 0.0)

    assert isinstance(replica.role, Primary)


def test_a_backup_of_another_zone_is_not_followed(replica, outside):
    """Nor is anybody by one that does not lead."""
    replica.on_other(b"b", Follow("b", "z", 1, 0), 0.0)
    replica.on_term(term())
    replica.on_other(b"b", Follow("b", "y", 1, 0), 0.0)
    assert outside.told == [(b"b", NotFollowed(0))] * 2
    assert replica.role.in_sync.followers == {}


def test_a_backup_is_told_of_the_streams_that_it_does_not_know(replica, outside):
    """From the number on that it says, with that number; and of each new one at once."""
    serve(replica)
    replica.on_other(b"b", Follow("b", "z", 3, 0), 0.0)
    replica.on_other(b"b", Follow("b", "z", 3, 1), 0.0)
    replica.role.on_clients([A_CLIENT, Client("t", 8, SOURCE)])

    lists = [message for _, message in outside.told if isinstance(message, StreamList)]
    assert [(each.after, [entry.number for entry in each.entries]) for each in lists] == [(0, [1]), (1, []), (1, [2])]


def test_a_backup_keeps_what_its_primary_keeps(replica):
    """And forgets what that has forgotten."""
    replica.on_term(term(leader="b"))
    stream = replica.streams.add("t", PRODUCER, SOURCE)
    stream.read("b:1", "backup/a", replica.fence, 0, 0.0)
    replica.on_message("b:1", Subscribed(stream.number, 0, 3, 3), 0.0)
    for sequence in (1, 2, 3):
        assert replica.on_batch("b:1", batch(sequence, sequence, zone_epoch=3), 0.0) is None

    replica.on_message("b:1", Heartbeat(stream.number, 3, 3, 3), 0.0)

    assert [kept.first for kept in stream.writer.log] == [3]


def test_whoever_takes_over_reads_on_from_where_it_is(replica, outside):
    """At the publisher, in the name of the zone, in its own epoch, with what it has stamped."""
    replica.on_term(term(leader="b"))
    stream = replica.streams.add("t", PRODUCER, SOURCE)
    stream.read("b:1", "backup/a", replica.fence, 0, 0.0)
    replica.on_message("b:1", Subscribed(stream.number, 0, 2, 3), 0.0)
    for sequence in (1, 2):
        replica.on_batch("b:1", batch(sequence, sequence, zone_epoch=3), 0.0)
    outside.asked.clear()

    replica.on_term(term(epoch=4))

    assert [(address, asked.reader, asked.after, asked.reader_epoch) for address, asked in outside.asked] == [
        ("p:1", "zone/z", 2, 4)
    ]
    assert {bytes(kept.frame)[16] for kept in stream.writer.log} == {4}
    assert not stream.fresh


def test_a_primary_that_is_elected_again_goes_on_with_what_it_has(replica, outside):
    """ZooKeeper may have lost the zone. What backups have is to be said anew: they may have led meanwhile."""
    stream = serve(replica, 1, 2, reads=True)
    backup_has(stream, "b", 2)
    outside.told.clear()

    replica.on_term(term("ab", epoch=5))

    assert list(stream.writer.readers) == ["r"]
    assert {bytes(kept.frame)[16] for kept in stream.writer.log} == {5}
    assert outside.told == []
    replica.work(0.0)
    assert stream.upstream.safe == 0


def test_a_silent_publisher_that_the_ring_does_not_name_has_ended(replica, outside):
    """Once everybody who is awaited has what it left; a good-bye is said in case it comes back."""
    stream = serve(replica, 1, reads=True)
    replica.role.on_clients([])
    replica.role.tick(UNLISTED_FOR_S - 0.1)
    assert stream.ended_at is None
    replica.role.tick(UNLISTED_FOR_S + 0.1)
    assert stream.ended_at is not None
    assert replica.streams.by_number != {}

    (reader,) = stream.writer.readers.values()
    reader.sent(stream.writer.log[0])
    stream.writer.acknowledge(reader, Ack(5, 1, 1), 4.0)
    outside.asked.clear()
    replica.role.tick(4.0)
    assert outside.asked_for(Unsubscribe) == [Unsubscribe(stream.number)]
    assert outside.forgotten == [stream]


def test_what_an_ended_publisher_left_is_kept_for_so_long(replica):
    """For whoever does not come."""
    serve(replica, 1, reads=True)
    replica.role.on_clients([])
    replica.role.tick(UNLISTED_FOR_S + 0.1)
    replica.role.tick(UNLISTED_FOR_S + ENDED_FOR_S)
    assert len(replica.streams.by_number) == 1

    replica.role.tick(UNLISTED_FOR_S + ENDED_FOR_S + 0.2)
    assert replica.streams.by_number == {}


def test_a_publisher_of_elsewhere_is_read_while_somebody_reads_it_here(replica):
    """And for a while after."""
    replica.on_term(term())
    assert replica.admit(b"r", subscribe(source=ELSEWHERE)) is None
    (stream,) = replica.streams.by_number.values()
    replica.role.tick(UNREAD_FOR_S + 1)
    assert replica.streams.by_number != {}

    stream.pending.clear()
    stream.writer.settle([], 0.0)
    replica.role.tick(2 * UNREAD_FOR_S)
    assert replica.streams.by_number != {}
    replica.role.tick(2 * UNREAD_FOR_S + 1.1)
    assert replica.streams.by_number == {}


def test_a_primary_that_stood_still_gives_the_awaited_their_time(replica):
    """They may have come meanwhile, which it has not read yet."""
    stream = serve(replica)
    stream.writer = type(stream.writer)(OFFERED)
    stream.writer.settle(["r"], 0.0)
    replica.work(0.0)
    late = TICK_S + EXPECTED_FOR_S + STOOD_STILL_S

    replica.work(late)

    assert stream.writer.forget_silent(late) == ([], [])
    assert not stream.writer.settled


def test_readers_are_told_twice_a_second_what_there_is(replica, outside):
    """The newest, the oldest that is kept, and the epoch."""
    stream = serve(replica, 1, 2, 3, reads=True)
    stream.writer.log.trim(2)
    replica.work(0.0)
    outside.told.clear()

    replica.work(HEARTBEAT_S + 0.01)

    assert (b"r", Heartbeat(5, 3, 2, 3)) in outside.told


def test_a_reader_of_many_streams_is_told_of_them_at_once(replica, outside, monkeypatch):
    """In few messages; whoever cannot be reached counts as detached on all of its streams."""
    monkeypatch.setattr("broker.replica.TOLD_AT_ONCE", 2)
    replica.on_term(term())
    replica.role.on_clients([Client("t", producer, SOURCE) for producer in (7, 8, 9)])
    streams = list(replica.streams.by_number.values())
    for stream in streams:
        stream.writer.settle([], 0.0)
        wanted = Subscribe(stream.number, "t", stream.producer, "r", Profile(), 0)
        stream.writer.subscribe(b"r", wanted, 0.0)
    outside.reachable = False

    replica.work(HEARTBEAT_S)

    beats = [Heartbeat(stream.number, 0, 1, 3) for stream in streams]
    assert outside.told == [(b"r", Heartbeats(tuple(beats[:2]))), (b"r", beats[2])]
    assert [stream.writer.readers["r"].detached_at for stream in streams] == [HEARTBEAT_S] * 3


def test_a_backup_is_told_of_many_streams_at_once(replica):
    """Each counts as if it had been told of by itself."""
    replica.on_term(term(leader="b"))
    for producer in (7, 8):
        replica.streams.add("t", producer, SOURCE).address = "b:1"

    replica.on_message("b:1", Heartbeats((Heartbeat(1, 3, 1, 3), Heartbeat(2, 4, 1, 3))), 1.0)

    assert [stream.upstream.newest for stream in replica.streams.by_number.values()] == [3, 4]


def test_a_primary_reads_elsewhere_for_the_readers_that_it_awaits(replica, outside):
    """Though it has none yet, and stood still for long: a good-bye would have their samples forgotten."""
    replica.on_term(term(leader="b"))
    stream = replica.streams.add("t", PRODUCER, ELSEWHERE)
    replica.on_term(term(epoch=4))
    stream.writer.settle(["r"], 0.0)
    replica.work(0.0)

    replica.work(UNREAD_FOR_S + 1)

    assert replica.streams.by_number != {}
    assert outside.asked_for(Unsubscribe) == []


def test_news_of_a_stream_that_is_known_end_no_list_that_is_under_way(replica, outside):
    """A backup would let go of the streams that its primary has not come to yet."""
    serve(replica, reads=True)
    replica.on_other(b"b", Follow("b", "z", 3, 1), 0.0)
    outside.told.clear()

    replica.role.tell_of_readers()

    (told,) = [message for _, message in outside.told if isinstance(message, StreamList)]
    assert (told.after, told.entries[0].readers, told.complete) == (1, ("r",), False)


DIRECT = PublisherRecord("p:1", OFFERED)


def test_a_reader_that_waits_for_nobody_is_not_waited_for(replica):
    """A publisher that never answers keeps no stream once the reader that named it has stopped asking."""
    replica.on_term(term())
    assert replica.admit(b"r", subscribe(source=DIRECT)) is None
    (stream,) = replica.streams.by_number.values()
    stream.writer.settle([], 0.0)

    replica.role.tick(PENDING_FOR_S - 1)
    assert list(stream.pending) == ["r"]
    replica.role.tick(PENDING_FOR_S + 1)
    assert not stream.pending
    replica.role.tick(PENDING_FOR_S + UNREAD_FOR_S + 2)
    assert replica.streams.by_number == {}


def test_a_publisher_of_no_zone_that_is_silent_has_ended(replica, outside):
    """Nobody lists it for this zone, so silence tells; its readers hear of it, and may ask again."""
    replica.on_term(term())
    replica.admit(b"r", subscribe(source=DIRECT))
    (stream,) = replica.streams.by_number.values()
    stream.writer.settle([], 0.0)
    replica.on_message("p:1", Subscribed(stream.number, 0, 0), 0.0)
    stream.writer.subscribe(b"r", subscribe(after=0), 0.0)

    replica.role.tick(UNHEARD_FOR_S - 1)
    assert list(replica.streams.by_number.values()) == [stream]
    replica.role.tick(UNHEARD_FOR_S + 1)

    assert replica.streams.by_number == {}
    assert outside.forgotten == [stream]


def test_a_zone_has_so_many_backups_and_no_more(replica, outside):
    """Whoever follows beyond that is sent away, and those that followed before are still heard."""
    replica.on_term(term())
    for number in range(MAX_IN_SYNC):
        replica.on_other(b"%d" % number, Follow(f"b{number}", "z", 3, 0), 0.0)

    assert len(replica.role.in_sync.followers) == MAX_IN_SYNC - 1
    assert outside.told[-1] == (b"%d" % (MAX_IN_SYNC - 1), NotFollowed(3))
    replica.on_other(b"0", Follow("b0", "z", 3, 0), 1.0)
    assert replica.role.in_sync.followers["b0"].heard_at == 1.0
