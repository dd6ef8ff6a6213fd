"""What goes out over the ROUTER of a publisher: batches to its readers."""

from __future__ import annotations

import time
from contextlib import suppress

import zmq

from chord.sockets import NOBLOCK, NOBLOCK_MORE, Socket
from pubsub.limits import SAMPLE_OVERHEAD_BYTES
from pubsub.outbox import Outbox
from pubsub.reader import Reader
from pubsub.writer import Writer


class Sending:
    """Sends batches to readers. Whoever calls it holds the lock of the ROUTER."""

    __slots__ = ("_send",)

    def __init__(self, router: Socket) -> None:
        self._send = router.send

    def fill_windows(self, writer: Writer) -> None:
        """Send each reader of a topic what it has room for."""
        for reader in writer.readers.values():
            for batch in writer.due(reader):
                if not self._batch(reader, batch.frame):
                    break
                reader.sent(batch)

    def single(self, outbox: Outbox, payload: bytes, time_us: int) -> None:
        """Publish one sample to readers that all have room, and lack nothing before it."""
        writer = outbox.writer
        frame = outbox.single.encode(writer.log.next_sequence, payload, time_us)
        batch = writer.append(frame, 1, len(payload) + SAMPLE_OVERHEAD_BYTES)
        for reader in writer.readers.values():
            if self._batch(reader, frame):
                reader.sent(batch)
        outbox.sent_us = time_us
        outbox.sequence = batch.last
        outbox.weight = batch.end_weight
        outbox.tell()

    def mend(self) -> None:
        """End a message of which only the route was sent, with a body that is none; when there is none, do nothing."""
        with suppress(zmq.ZMQError):
            self._send(b"", NOBLOCK)

    def _batch(self, reader: Reader, frame: bytes | bytearray) -> bool:
        send = self._send
        try:
            # A route that cannot be reached is refused with the first frame, so the two never come apart.
            send(reader.route, NOBLOCK_MORE)
            send(frame, NOBLOCK)
        except zmq.Again:
            return False
        except zmq.ZMQError:
            reader.detached_at = time.monotonic()
            return False
        return True
