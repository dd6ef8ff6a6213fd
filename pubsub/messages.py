"""What subscribers, publishers and brokers say to each other beside batches, and what their entries on the ring hold.

MessagePack arrays, tagged by their first element; every size has a limit. `stream` is the number that a reader, which
is a subscriber or a zone, gave to a subscription.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import msgspec
from msgspec import Meta

from chord.errors import RemoteProtocolError
from chord.messages import Address, Count, Identifier, Name
from chord.wire import BAD_INPUT
from pubsub.limits import MAX_ERROR_TEXT, MAX_ZONE_NAME, TOLD_AT_ONCE
from pubsub.profile import Profile

Text = Annotated[str, Meta(max_length=MAX_ERROR_TEXT)]
Policies = Annotated[tuple[Annotated[str, Meta(max_length=32)], ...], Meta(max_length=16)]
ReaderId = Annotated[str, Meta(min_length=1, max_length=64)]
ZoneName = Annotated[str, Meta(max_length=MAX_ZONE_NAME)]


class PublisherRecord(msgspec.Struct, array_like=True, frozen=True):
    """The value of a publisher's entry `pub/<id>` in the record of a topic. `zone` is whose brokers read it first."""

    address: Address
    offered: Profile
    zone: ZoneName = ""


class Subscribe(msgspec.Struct, tag="subscribe", array_like=True, frozen=True):
    """Wanted: the samples of `topic` from sequence `after` + 1 on, or, with None, what the profile says.

    Sent again it replaces itself: that is how a reader asks for what it missed. To a broker, `source` says where the
    publisher is; `earlier` whether the reader was there before it, and so gets its first sample (None: the writer
    knows); `zone_epoch` the highest epoch of the broker's zone that the reader has heard of. `reader_epoch` is that of
    the reader's own zone, when the reader is one.
    """

    stream: Count
    topic: Name
    publisher: Identifier
    reader: ReaderId
    requested: Profile
    after: Count | None = None
    earlier: bool | None = None
    source: PublisherRecord | None = None
    zone_epoch: Count = 0
    reader_epoch: Count = 0


class Ack(msgspec.Struct, tag="ack", array_like=True, frozen=True):
    """The reader has received every sample up to `received`, and its application has taken those up to `taken`.

    A zone says up to which sample every broker in sync has them too, `safe`: only those may be forgotten. None: all
    that it has received. `reader_epoch` is the zone's, and `readers` counts who reads there.
    """

    stream: Count
    received: Count
    taken: Count
    safe: Count | None = None
    reader_epoch: Count = 0
    readers: Count = 1


class Acks(msgspec.Struct, tag="acks", array_like=True, frozen=True):
    """How far several readers at one connection are."""

    acks: Annotated[tuple[Ack, ...], Meta(max_length=TOLD_AT_ONCE)]


class Unsubscribe(msgspec.Struct, tag="unsubscribe", array_like=True, frozen=True):
    """The reader wants no more."""

    stream: Count


class Mismatched(msgspec.Struct, tag="mismatched", array_like=True, frozen=True):
    """A zone tells a publisher whom it refused, for less is offered than requested."""

    stream: Count
    reader: ReaderId
    policies: Policies
    text: Text


class Subscribed(msgspec.Struct, tag="subscribed", array_like=True, frozen=True):
    """The next sample on this stream will be that after `after`. Answers every Subscribe that matches.

    `newest` is the newest there is. A broker adds the epoch of its zone.
    """

    stream: Count
    after: Count
    newest: Count = 0
    zone_epoch: Count = 0


class Incompatible(msgspec.Struct, tag="incompatible", array_like=True, frozen=True):
    """Less is offered than requested, in these policies."""

    stream: Count
    policies: Policies
    text: Text


class Heartbeat(msgspec.Struct, tag="heartbeat", array_like=True, frozen=True):
    """The publisher is alive, and `last` is the newest sample of the topic that is in a batch.

    A broker adds the oldest that it keeps, and the epoch of its zone.
    """

    stream: Count
    last: Count
    oldest: Count = 0
    zone_epoch: Count = 0


class Heartbeats(msgspec.Struct, tag="heartbeats", array_like=True, frozen=True):
    """The heartbeats of several streams at one connection."""

    beats: Annotated[tuple[Heartbeat, ...], Meta(max_length=TOLD_AT_ONCE)]


class Gone(msgspec.Struct, tag="gone", array_like=True, frozen=True):
    """The publisher knows no such stream (any more), or serves no such topic (any more)."""

    stream: Count


class NoRoom(msgspec.Struct, tag="no_room", array_like=True, frozen=True):
    """The publisher serves as many readers as it can. `text` is for a person; the reader may ask again later."""

    stream: Count
    text: Text


class NotPrimary(msgspec.Struct, tag="not_primary", array_like=True, frozen=True):
    """This broker does not speak for its zone (any more): the ring names who does. It has heard of `zone_epoch`."""

    stream: Count
    zone_epoch: Count


class Fenced(msgspec.Struct, tag="fenced", array_like=True, frozen=True):
    """Whoever asked in the name of a zone was deposed: `reader_epoch` is known of it."""

    stream: Count
    reader_epoch: Count


class Unreadable(msgspec.Struct, tag="unreadable", array_like=True, frozen=True):
    """What the subscriber sent could not be read."""

    text: Text


FromSubscriber = Subscribe | Ack | Acks | Unsubscribe | Mismatched
FromPublisher = Subscribed | Incompatible | Heartbeat | Heartbeats | Gone | NoRoom | NotPrimary | Fenced | Unreadable


class SubscriberRecord(msgspec.Struct, array_like=True, frozen=True):
    """The value of a subscriber's entry `sub/<id>` in the record of a topic. `zone` is whose brokers it reads from."""

    requested: Profile
    zone: ZoneName = ""


encode = msgspec.msgpack.Encoder().encode
_from_subscriber: Callable[[bytes], FromSubscriber] = msgspec.msgpack.Decoder(FromSubscriber).decode
_from_publisher: Callable[[bytes], FromPublisher] = msgspec.msgpack.Decoder(FromPublisher).decode
_publisher_record = msgspec.msgpack.Decoder(PublisherRecord).decode
_subscriber_record = msgspec.msgpack.Decoder(SubscriberRecord).decode


def from_subscriber(frame: bytes) -> FromSubscriber:
    """What a subscriber said. Raises RemoteProtocolError."""
    try:
        return _from_subscriber(frame)
    except BAD_INPUT as error:
        raise unreadable(frame, error) from None


def from_publisher(frame: bytes) -> FromPublisher:
    """What a publisher said. Raises RemoteProtocolError."""
    try:
        return _from_publisher(frame)
    except BAD_INPUT as error:
        raise unreadable(frame, error) from None


def unreadable(frame: bytes, error: Exception) -> RemoteProtocolError:
    """What to raise for a frame that could not be decoded."""
    return RemoteProtocolError(f"unreadable message of {len(frame)} bytes: {error}"[:MAX_ERROR_TEXT])


def publisher_record(value: bytes) -> PublisherRecord | None:
    """A publisher's record, or None when the value is none."""
    try:
        return _publisher_record(value)
    except BAD_INPUT:
        return None


def subscriber_record(value: bytes) -> SubscriberRecord | None:
    """A subscriber's record, or None when the value is none."""
    try:
        return _subscriber_record(value)
    except BAD_INPUT:
        return None
