"""What the application's thread and the I/O thread of a publisher share of one topic."""

from __future__ import annotations

from pubsub.encoding import SingleEncoder, encode, fitting
from pubsub.layout import Origin
from pubsub.limits import BATCH_BYTES, MAX_BATCH_SAMPLES, SAMPLE_OVERHEAD_BYTES
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
        "in_zone",
        "limit",
        "origin",
        "payloads",
        "readers",
        "registration",
        "sent_us",
        "sequence",
        "settled",
        "single",
        "times",
        "topic",
        "traced",
        "weight",
        "writer",
    )

    def __init__(
        self, origin: Origin, writer: Writer, registration: Registration, in_zone: Registration | None = None
    ) -> None:
        self.topic = origin.topic
        self.origin = origin
        self.single = SingleEncoder(origin)
        self.writer = writer
        self.registration = registration
        self.in_zone = in_zone
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

    @property
    def is_full(self) -> bool:
        """Whether what waits makes a whole batch."""
        return self.weight - self.writer.log.weight >= BATCH_BYTES or len(self.times) >= MAX_BATCH_SAMPLES

    def cut(self, now_us: int) -> None:
        """Put as many samples as fit into one batch, and that into the log."""
        payloads = self.payloads[: min(len(self.times), MAX_BATCH_SAMPLES)]
        count, lengths = fitting(payloads)
        del payloads[count:]
        frame = encode(self.origin, self.writer.log.next_sequence, payloads, self.times[:count], lengths)
        del self.payloads[:count]
        del self.times[:count]
        self.sent_us = now_us
        self.writer.append(frame, count, sum(lengths) + SAMPLE_OVERHEAD_BYTES * count)

    def tell(self) -> None:
        """Tell the application how far its readers are, and how much it may publish."""
        writer = self.writer
        writer.trim()
        self.limit = writer.limit()
        self.delivered = writer.delivered
        self.settled = writer.settled
        self.readers = sum(reader.readers for reader in writer.readers.values())

    def mend(self) -> None:
        """An interrupt broke off `publish`: a payload without a time was not published, one with a time was.

        For the application, while the I/O thread takes nothing.
        """
        self.writer.mend()
        del self.payloads[len(self.times) :]
        self.sequence = self.writer.log.next_sequence - 1 + len(self.times)
        self.weight = self.writer.log.weight + sum(len(each) + SAMPLE_OVERHEAD_BYTES for each in self.payloads)
