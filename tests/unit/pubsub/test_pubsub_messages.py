"""What publishers and subscribers say: read, or refused."""

from __future__ import annotations

import msgspec
import pytest

from chord.errors import RemoteProtocolError
from pubsub import messages
from pubsub.messages import Ack, Gone, Heartbeat, Incompatible, PublisherRecord, Subscribe, Subscribed, Unsubscribe
from pubsub.profile import Profile


@pytest.mark.parametrize(
    "message",
    [
        Subscribe(1, "t", 2**64 - 1, "r", Profile()),
        Subscribe(1, "t", 7, "r", Profile(), 9),
        Ack(1, 5, 4),
        messages.Acks((Ack(1, 5, 4), Ack(2, 7, 7))),
        Unsubscribe(1),
    ],
)
def test_what_a_subscriber_says_is_read_by_the_publisher(message):
    """Every message survives the journey."""
    assert messages.from_subscriber(messages.encode(message)) == message


@pytest.mark.parametrize(
    "message",
    [
        Subscribed(1, 5),
        Incompatible(1, ("history",), "why"),
        Heartbeat(1, 5),
        messages.Heartbeats((Heartbeat(1, 5), Heartbeat(2, 7, 3, 4))),
        Gone(1),
        messages.NoRoom(1, "why"),
        messages.Unreadable("?"),
    ],
)
def test_what_a_publisher_says_is_read_by_the_subscriber(message):
    """Every message survives the journey."""
    assert messages.from_publisher(messages.encode(message)) == message


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\xc1",
        b"\x92" * 5_000,
        msgspec.msgpack.encode(["subscribe", 1]),
        msgspec.msgpack.encode(["subscribe", 1, "", 7, "r", ["at_least_once"]]),
        msgspec.msgpack.encode(["subscribe", 1, "x" * 256, 7, "r", ["at_least_once"]]),
        msgspec.msgpack.encode(["subscribe", 1, "t", 7, "r", ["sometimes"]]),
        msgspec.msgpack.encode(["ack", 1, -1, 0]),
        msgspec.msgpack.encode(["ack", 1, 2**60, 0]),
        b"\x94\xa3ack\xa1\xff\x00\x00",
        msgspec.msgpack.encode({"type": "ack"}),
    ],
)
def test_anything_else_is_refused(frame):
    """With a RemoteProtocolError, and nothing else."""
    with pytest.raises(RemoteProtocolError, match="unreadable message"):
        messages.from_subscriber(frame)


def test_a_value_that_is_no_publisher_record_is_none():
    """Anybody may put an entry into a record."""
    record = PublisherRecord("127.0.0.1:5000", Profile())

    assert messages.publisher_record(messages.encode(record)) == record
    assert messages.publisher_record(b"garbage") is None
