"""One topic of one producer in a broker: read from where it comes, kept, and handed to its readers.

Frames pass as they came but for the epoch of the zone, which the checksum leaves out. Sequences and the bounds of
batches are the producer's, so two brokers that hold a sequence hold the same sample: a new primary goes on where it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from pubsub.batch import Batch
from pubsub.layout import stamp
from pubsub.limits import BUFFER_BYTES
from pubsub.log import Log
from pubsub.messages import PublisherRecord, Subscribe, Subscribed
from pubsub.subscription import Subscription
from pubsub.writer import Writer
from pubsub.zone_view import Fence

BACKUP = "backup/"
"""What the name begins with that a backup reads under."""

PRIME_FOR_HEARTBEATS = 2

TELL_BYTES = 64 * 1024
"""What has become safe is told to the source at once when it is this much, or all that a heartbeat spoke of; else with
what else there is to tell: a message wakes the publisher, and samples on their way wait for it."""


class Pending(NamedTuple):
    """A reader that waits for a stream to be primed: the route to it, what it asked for, and when."""

    route: bytes
    message: Subscribe
    asked_at: float


class Stream:
    """`upstream` reads it at `address` (empty: nowhere yet), `writer` keeps it and serves its readers.

    Until it is `primed`, that is until the past samples have come that its source had when it was first read, readers
    wait in `pending`: what a late one is to get is counted from the newest. `fresh`: nobody had it before this primary,
    so its source keeps everything until the readers that are to get the first sample are there. `led_from` is the
    newest that this primary had when it began to lead: what of it was said to be safe before, it does not know.
    """

    def __init__(self, number: int, topic: str, producer: int, source: PublisherRecord, now: float) -> None:
        self.number = number
        self.topic = topic
        self.producer = producer
        self.source = source
        self.address = ""
        self.upstream = Subscription(number, topic, producer, "", source.offered, now, source=source)
        self.writer = Writer(source.offered)
        self.pending: dict[str, Pending] = {}
        self.fresh = True
        self.primed = False
        self.led_from = 0
        self.inherited: frozenset[str] = frozenset()
        """Who read it at the primary that this broker followed, and is to lose nothing."""
        self.told_of: frozenset[str] = frozenset()
        """Its readers as the backups know them."""
        self.listed_at = now
        self.read_at = now
        self.ended_at: float | None = None
        self._prime_at = 0
        self._heartbeats = 0
        self._asked_about = 0
        self._told_weight = 0

    def read(self, address: str, name: str, fence: Fence, reader_epoch: int, now: float) -> Subscribe:
        """Read it somewhere, from where it is; returns what to say there."""
        upstream = self.upstream
        self.address = address
        self.ended_at = None
        upstream.name = name
        upstream.fence = fence
        upstream.reader_epoch = reader_epoch
        upstream.earlier = True if name.startswith(BACKUP) else None
        # A new primary knows of nothing that the others have it too, and gives leave to forget nothing.
        upstream.safe = None if name.startswith(BACKUP) else 0
        upstream.heard_at = None
        upstream.began_at = now
        return upstream.subscribe(now)

    def lead(self, zone_epoch: int) -> None:
        """From now on this broker writes it, in the name of the zone in this epoch. Backups say anew what they have."""
        for name in [name for name in self.writer.readers if name.startswith(BACKUP)]:
            self.writer.remove(name)
        self.writer.zone_epoch = zone_epoch
        self.led_from = 0 if self.upstream.next is None else self.upstream.next - 1
        for logged in self.writer.log:
            assert isinstance(logged.frame, bytearray)
            stamp(logged.frame, zone_epoch)

    def on_subscribed(self, message: Subscribed, now: float) -> None:
        """Its source said where it goes on."""
        first = self.upstream.next is None
        self.ended_at = None
        self.upstream.on_subscribed(message.after, now)
        if first:
            self.writer.log = Log(message.after)
            self.upstream.safe = None if self.upstream.safe is None else message.after
            self._prime_at = message.newest
        self._prime()

    def on_heartbeat(self) -> None:
        """Its source lives. What it has not sent by the second time is not to be waited for."""
        self._asked_about = self.upstream.newest
        if not self.primed and self.upstream.next is not None:
            self._heartbeats += 1
            self._prime()

    def _prime(self) -> None:
        last = self.writer.log.next_sequence - 1
        self.primed = self.primed or last >= self._prime_at or self._heartbeats >= PRIME_FOR_HEARTBEATS

    def take(self, batch: Batch, now: float) -> bool:
        """A batch came from its source; whether it is new."""
        if self.upstream.on_batch(batch, now) is None:
            return False
        frame = bytearray(batch.frame)
        stamp(frame, self.writer.zone_epoch)
        self.writer.log.append(frame, batch.count, batch.weight, batch.first)
        if not self.primed:
            self._prime()
        return True

    def settle_up(self, backups: Iterable[str]) -> None:
        """Say what the source may forget, namely what every one of these backups has, and what has been taken.

        What the slowest reader has not received is taken only as far as the buffer goes: so the source waits for it.
        """
        upstream, writer = self.upstream, self.writer
        if upstream.next is None:
            return
        if upstream.safe is not None and not (self.fresh and not writer.settled):
            safe, weight = upstream.next - 1, writer.log.weight
            for name in backups:
                reader = writer.readers.get(name)
                safe = min(safe, reader.received if reader is not None else 0)
                weight = min(weight, reader.received_weight if reader is not None else 0)
            if safe > upstream.safe:
                asked = upstream.safe < self._asked_about <= safe
                upstream.safe = safe
                if asked or weight - self._told_weight >= TELL_BYTES:
                    self._told_weight = weight
                    upstream.ack_now = True
        behind = sum(reader.readers for reader in writer.readers.values() if not reader.name.startswith(BACKUP))
        if behind != upstream.readers:
            upstream.readers = behind
            upstream.ack_now = True
        received = [reader.received_weight for reader in writer.readers.values() if reader.reliable]
        if not writer.settled:
            received.append(writer.log.start_weight)  # somebody who is awaited may lack all of it
        if not received or writer.log.weight - min(received) < BUFFER_BYTES:
            upstream.taken = upstream.queued
            upstream.taken_weight = upstream.queued_weight

    def is_done(self) -> bool:
        """Whether every reader has what there is, and none is awaited."""
        writer = self.writer
        return writer.settled and writer.delivered >= writer.log.next_sequence - 1 and not self.pending

    def reliable_readers(self, at_most: int) -> frozenset[str]:
        """The names of those that are to lose nothing, without the backups."""
        readers = self.writer.readers.values()
        names = (each.name for each in readers if each.reliable and not each.name.startswith(BACKUP))
        return frozenset(islice(names, at_most))

    @property
    def readers(self) -> int:
        """How many read it, without the backups."""
        return sum(not name.startswith(BACKUP) for name in self.writer.readers) + len(self.pending)
