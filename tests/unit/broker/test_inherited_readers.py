"""The next primary knows who read from the last one, and keeps what they lack, whatever the ring says."""

from __future__ import annotations

import pytest

from broker.messages import Follow, StreamList
from broker.place import Place
from broker.primary import Primary
from broker.replica import HEARTBEAT_S, Replica
from pubsub.limits import BUFFER_BYTES
from pubsub.messages import Subscribe, Subscribed
from pubsub.profile import Profile
from pubsub.writer import BLOCKING_FOR_S, SILENT_FOR_S
from pubsub.zones import Client
from tests.unit.broker.outsides import ME, PRODUCER, SOURCE, Outside, batch, term

BACKUP_PLACE = Place("b", "b:1", "z")


@pytest.fixture
def leading():
    """A primary that is followed, and a stream of it."""
    outside = Outside()
    replica = Replica(ME, "notify", outside, lambda _broker, _address: None, lambda: None)
    replica.on_term(term())
    replica.role.on_clients([Client("t", PRODUCER, SOURCE)])
    replica.on_other(b"to b", Follow("b", "z", 3, 0), 0.0)
    (stream,) = replica.streams.by_number.values()
    return replica, outside, stream


def read(stream, reader, reliability="at_least_once"):
    """Have somebody read a stream."""
    asked = Subscribe(5, "t", PRODUCER, reader, Profile(reliability), 0)
    stream.writer.subscribe(reader.encode(), asked, 0.0)


def told_of_readers(outside):
    """The names in every list that went to the backup since the last time."""
    lists = [message for route, message in outside.told if route == b"to b" and isinstance(message, StreamList)]
    outside.told.clear()
    return [sorted(entry.readers) for each in lists for entry in each.entries]


def test_backups_are_told_who_reads(leading):
    """Once, when somebody comes or goes; neither of best-effort readers nor of themselves."""
    replica, outside, stream = leading
    assert told_of_readers(outside) == [[]]
    for reader in ("one", "two", "backup/b"):
        read(stream, reader)
    read(stream, "careless", "best_effort")

    replica.work(1.0)
    assert told_of_readers(outside) == [["one", "two"]]
    replica.work(1.0 + 2 * HEARTBEAT_S)
    assert told_of_readers(outside) == []
    stream.writer.remove("one")
    replica.work(1.0 + 4 * HEARTBEAT_S)
    assert told_of_readers(outside) == [["two"]]


def test_who_follows_later_is_told_at_once(leading):
    """With the stream itself."""
    replica, outside, stream = leading
    read(stream, "one")
    outside.told.clear()

    replica.on_other(b"to b", Follow("b", "z", 3, 0), 1.0)

    assert told_of_readers(outside) == [["one"]]


def test_the_next_primary_keeps_for_them_what_they_lack(leading):
    """Though the ring has forgotten them: until they come, or have had their time."""
    replica, outside, stream = leading
    read(stream, "one")
    outside.told.clear()
    replica.on_other(b"to b", Follow("b", "z", 3, 0), 1.0)
    (told,) = [message for _, message in outside.told if isinstance(message, StreamList)]
    elsewhere = Outside()
    successor = Replica(BACKUP_PLACE, "notify", elsewhere, lambda _broker, _address: None, lambda: None)
    successor.on_term(term())
    successor.on_message("a:1", told, 0.0)
    (kept,) = successor.streams.by_number.values()
    successor.on_message("a:1", Subscribed(kept.number, 0, 1, 3), 0.0)
    successor.on_batch("a:1", batch(1, 1, zone_epoch=3), 0.0)

    successor.on_term(term("b", "bc", 4, "b"))
    now = elsewhere.pass_time(0.1)
    successor.settle_up(kept)

    assert isinstance(successor.role, Primary)
    assert kept.writer.registered and not kept.writer.settled
    assert kept.writer.log.first_sequence == 1
    kept.writer.forget_silent(now + SILENT_FOR_S - 1)
    assert not kept.writer.settled
    kept.writer.forget_silent(now + SILENT_FOR_S + 1)
    assert kept.writer.settled


def test_an_inherited_reader_that_holds_everybody_up_has_less_time(leading):
    """As a silent one whose buffer is full: the source was let go on as far as the buffer, and waits."""
    _, _, stream = leading
    writer = stream.writer
    writer.settle(["one"], 0.0, inherited=["one"])
    stream.on_subscribed(Subscribed(stream.number, 0, 0, 3), 0.0)
    writer.append(b"", 1, BUFFER_BYTES - 1)
    writer.forget_silent(BLOCKING_FOR_S + 1)
    assert not writer.settled
    writer.append(b"", 1, 1)
    stream.settle_up(())
    assert stream.upstream.taken == 0

    writer.forget_silent(BLOCKING_FOR_S - 1)
    assert not writer.settled
    writer.forget_silent(BLOCKING_FOR_S + 1)
    assert writer.settled
