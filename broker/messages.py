"""What brokers of one zone say to each other, beside what every reader and writer says (pubsub/messages.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import msgspec
from msgspec import Meta

from chord.messages import Count, Identifier, Name
from chord.wire import BAD_INPUT
from pubsub.messages import FromPublisher, FromSubscriber, PublisherRecord, ReaderId, ZoneName, unreadable

STREAMS_AT_ONCE = 256
READERS_AT_ONCE = 4_096
"""Streams, and names of readers, of one list: it fits a frame several times."""


class Follow(msgspec.Struct, tag="follow", array_like=True, frozen=True):
    """A backup lives, and knows the streams up to number `have`. Said every half second; a StreamList answers."""

    broker: ReaderId
    zone: ZoneName
    zone_epoch: Count
    have: Count


class StreamEntry(msgspec.Struct, array_like=True, frozen=True):
    """One topic of one producer that the primary keeps: its number there, where it comes from, and who reads it there
    and is to lose nothing, so that the next primary keeps it for them until they come."""

    number: Count
    topic: Name
    producer: Identifier
    source: PublisherRecord
    readers: Annotated[tuple[ReaderId, ...], Meta(max_length=READERS_AT_ONCE)] = ()


class StreamList(msgspec.Struct, tag="streams", array_like=True, frozen=True):
    """Streams of the primary after number `after`, in the order of numbers; `complete` when there are no more now."""

    zone_epoch: Count
    after: Count
    entries: Annotated[tuple[StreamEntry, ...], Meta(max_length=STREAMS_AT_ONCE)]
    complete: bool


class NotFollowed(msgspec.Struct, tag="not_followed", array_like=True, frozen=True):
    """Who was asked is not the primary of that zone, as far as it knows: it has heard of `zone_epoch`."""

    zone_epoch: Count


FromReader = FromSubscriber | Follow
FromSource = FromPublisher | StreamList | NotFollowed

encode = msgspec.msgpack.Encoder().encode
_from_reader: Callable[[bytes], FromReader] = msgspec.msgpack.Decoder(FromReader).decode
_from_source: Callable[[bytes], FromSource] = msgspec.msgpack.Decoder(FromSource).decode


def from_reader(frame: bytes) -> FromReader:
    """What a reader or a backup said. Raises RemoteProtocolError."""
    try:
        return _from_reader(frame)
    except BAD_INPUT as error:
        raise unreadable(frame, error) from None


def from_source(frame: bytes) -> FromSource:
    """What a publisher or a primary said. Raises RemoteProtocolError."""
    try:
        return _from_source(frame)
    except BAD_INPUT as error:
        raise unreadable(frame, error) from None
