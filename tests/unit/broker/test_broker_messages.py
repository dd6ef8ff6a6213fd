"""What brokers say to each other is read with its limits checked."""

from __future__ import annotations

import msgspec
import pytest

from broker.messages import (
    STREAMS_AT_ONCE,
    Follow,
    NotFollowed,
    StreamEntry,
    StreamList,
    encode,
    from_reader,
    from_source,
)
from chord.errors import RemoteProtocolError
from pubsub.limits import MAX_ERROR_TEXT, MAX_ZONE_NAME
from pubsub.messages import Ack, Heartbeat, PublisherRecord
from pubsub.profile import Profile

ENTRY = StreamEntry(1, "t", 7, PublisherRecord("p:1", Profile(), "z"))
FOLLOW = Follow("b", "z", 3, 4)
LIST = StreamList(3, 0, (ENTRY,), True)


@pytest.mark.parametrize("message", [FOLLOW, Ack(1, 2, 3, 1, 4)])
def test_what_a_reader_or_a_backup_says_is_read(message):
    """By the broker that serves both."""
    assert from_reader(encode(message)) == message


@pytest.mark.parametrize("message", [LIST, NotFollowed(3), Heartbeat(1, 2, 1, 3)])
def test_what_a_publisher_or_a_primary_says_is_read(message):
    """By the broker that reads from both."""
    assert from_source(encode(message)) == message


@pytest.mark.parametrize(
    "message",
    [
        Follow("", "z", 3, 4),
        Follow("b" * 65, "z", 3, 4),
        Follow("b", "z" * (MAX_ZONE_NAME + 1), 3, 4),
        Follow("b", "z", -1, 4),
        Follow("b", "z", 3, 2**53 + 1),
        LIST,
    ],
)
def test_a_backup_that_exceeds_a_limit_is_refused(message):
    """As is what only a primary says."""
    with pytest.raises(RemoteProtocolError, match="unreadable message"):
        from_reader(encode(message))


@pytest.mark.parametrize(
    "message",
    [
        StreamList(3, 0, (ENTRY,) * (STREAMS_AT_ONCE + 1), True),
        StreamList(3, -1, (), True),
        StreamList(3, 0, (msgspec.structs.replace(ENTRY, number=-1),), True),
        StreamList(3, 0, (msgspec.structs.replace(ENTRY, producer=-1),), True),
        NotFollowed(-1),
        FOLLOW,
    ],
)
def test_a_primary_that_exceeds_a_limit_is_refused(message):
    """As is what only a backup says."""
    with pytest.raises(RemoteProtocolError, match="unreadable message"):
        from_source(encode(message))


@pytest.mark.parametrize("frame", [b"", b"\xc1", b"\x91", b"\x93\xa7streams", b"\x92\xa4nope\x01", b"\xff" * 2000])
def test_garbage_is_refused_in_few_words(frame):
    """Whoever sent it is told so."""
    for read in (from_reader, from_source):
        with pytest.raises(RemoteProtocolError) as refusal:
            read(frame)
        assert len(str(refusal.value)) <= MAX_ERROR_TEXT
