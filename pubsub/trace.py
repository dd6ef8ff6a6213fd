"""The trace rows of publications and deliveries, beside those of the ring in chord/trace.py."""

from __future__ import annotations

import msgspec


class DeliveryTrace(msgspec.Struct, tag="delivery", array_like=True, frozen=True, kw_only=True):
    """One sample handed to one subscriber's application.

    `published_us` is the publisher's wall clock, `received_us` the subscriber's; both in microseconds since the epoch.
    """

    topic: str
    mode: str
    publisher: str
    subscriber: str
    sequence: int
    published_us: int
    received_us: int


class PublicationTrace(msgspec.Struct, tag="publication", array_like=True, frozen=True, kw_only=True):
    """What one publisher sent on one topic in one interval: sequences `first` to `last`, both included."""

    topic: str
    publisher: str
    first: int
    last: int
    at_us: int
