"""What the application's thread and the I/O thread of a publisher share of one topic."""

from __future__ import annotations

from pubsub.batch import Origin
from pubsub.registration import Registration
from pubsub.writer import Writer


class Outbox:
    """One topic between the application, which appends, and the I/O thread, which takes from the front.

    Lists are appended to and cut at the front by single operations of the interpreter, so neither thread waits for the
    other: `payloads` first, then `times`, so that there is a payload for every time.
    """

    __slots__ = (
        "delivered",
        "dirty",
        "limit",
        "origin",
        "payloads",
        "readers",
        "registration",
        "sent_us",
        "sequence",
        "settled",
        "times",
        "topic",
        "traced",
        "weight",
        "writer",
    )

    def __init__(self, origin: Origin, writer: Writer, registration: Registration) -> None:
        self.topic = origin.topic
        self.origin = origin
        self.writer = writer
        self.registration = registration
        # Written by the application.
        self.payloads: list[bytes] = []
        self.times: list[int] = []
        self.sequence = 0
        self.weight = 0
        self.dirty = False
        # Written by the I/O thread.
        self.limit = writer.limit()
        self.delivered = 0
        self.settled = False
        self.readers = 0
        self.traced = 0
        self.sent_us = 0
