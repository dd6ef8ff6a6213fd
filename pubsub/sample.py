"""What a subscriber's application is handed."""

from __future__ import annotations

import msgspec


class Sample(msgspec.Struct, frozen=True, gc=False):
    """One sample. Sequences count from 1 for each publisher and topic.

    `published_us` is the publisher's wall clock when `publish` was called, `received_us` the subscriber's when the
    sample arrived there; both in microseconds since the epoch. `publisher` is 16 hexadecimal digits.
    """

    topic: str
    publisher: str
    sequence: int
    published_us: int
    received_us: int
    payload: bytes
