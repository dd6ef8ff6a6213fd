"""One publisher's samples of one topic, at a subscriber or a broker: what comes next, what is missing, what was lost.

Pure: the driver feeds in messages, batches and the time, and sends what comes back.
"""

from __future__ import annotations

from pubsub.batch import Batch
from pubsub.limits import UNTAKEN_BYTES, WINDOW_BATCHES, WINDOW_BYTES
from pubsub.messages import Ack, PublisherRecord, Subscribe
from pubsub.profile import Profile
from pubsub.zone_view import Fence

SILENT_FOR_S = 1.6
"""A publisher that has not been heard for this long is asked again; it says something every half second."""

ACK_PAUSE_S = 0.02
ACK_BATCHES = WINDOW_BATCHES // 4
"""News of how far a reader is waits for this long after the last, or for this many batches, or for a heartbeat: every
message wakes a thread at the other end."""

ACK_EVERY_S = 1.0
"""A reader says how far it is at least this often, so that the publisher knows it alive."""


class Subscription:
    """One topic of one publisher, as its subscriber sees it; the publisher calls it a reader.

    `next` is the sequence that is expected next, None until the publisher has said where it begins, and `newest` the
    greatest that the publisher spoke of. `taken` is what the application has taken, `taken_weight` what that weighed,
    and `ack_now` that the publisher had better know; the application's thread writes them. `fence` is that of the zone
    that is read from, if one is: it is told `source` and `earlier` (pubsub/messages.py). A zone that reads has a
    `reader_epoch`, and says what is `safe`.
    """

    def __init__(
        self,
        stream: int,
        topic: str,
        publisher: int,
        name: str,
        requested: Profile,
        now: float,
        fence: Fence | None = None,
        source: PublisherRecord | None = None,
        earlier: bool | None = None,
    ) -> None:
        self.stream = stream
        self.topic = topic
        self.publisher = publisher
        self.name = name
        self.requested = requested
        self.fence = fence or Fence()
        self.source = source
        self.earlier = earlier
        self.reader_epoch = 0
        self.safe: int | None = None
        self.began_at = now
        self.gone = False
        self.next: int | None = None
        self.newest = 0
        self.taken = 0
        self.queued = 0
        self.taken_weight = 0
        self.queued_weight = 0
        self.lost = 0
        self.refused = False
        self.turned_away = False
        self.gap = False
        self.overflowed = False
        self.ack_now = False
        self.heard_at: float | None = None
        self.asked_at = now
        self._asking = True
        self._next_at_heartbeat: int | None = None
        self.readers = 1
        """Subscribers that this one stands for."""
        self._said: tuple[int, int, int | None, int] = (0, 0, None, 1)
        self._said_at = now - ACK_PAUSE_S
        self._unsaid_batches = 0

    def subscribe(self, now: float) -> Subscribe:
        """Ask for everything from the next sample on."""
        self.asked_at = now
        self._asking = True
        self.gap = False
        self.overflowed = False
        after = None if self.next is None else self.next - 1
        return Subscribe(
            self.stream,
            self.topic,
            self.publisher,
            self.name,
            self.requested,
            after,
            self.earlier,
            self.source,
            self.fence.epoch,
            self.reader_epoch,
        )

    def on_subscribed(self, after: int, now: float) -> None:
        """The publisher said where the samples go on."""
        self.heard_at = now
        self.gone = False
        self.turned_away = False
        self._asking = False
        if self.next is None:
            self.next = after + 1
            self.taken = self.queued = after
        elif after + 1 > self.next:
            self.lost += after + 1 - self.next
            self.next = after + 1

    def on_batch(self, batch: Batch, now: float) -> int | None:
        """A batch came; returns how many of its samples are to be skipped, or None when all are.

        What comes from a primary that was deposed is dropped. What comes though the application has taken nothing for
        long is dropped too, and asked for by `tick` later. After a gap a best-effort reader goes on, and counts what it
        lost; any other sets `gap`, and is to `subscribe`.
        """
        if not self.fence.admits(batch.zone_epoch):
            return None
        self.heard_at = now
        self.newest = max(self.newest, batch.last)
        expected = self.next
        if expected is None or batch.last < expected:
            return None
        if self.queued_weight - self.taken_weight > UNTAKEN_BYTES:
            self.overflowed = True
            return None
        if batch.first > expected:
            if self.requested.reliability == "at_least_once":
                self.gap = not self._asking
                return None
            self.lost += batch.first - expected
            expected = batch.first
        self.next = batch.last + 1
        self.queued = batch.last
        self.queued_weight += batch.weight
        self._unsaid_batches += 1
        return expected - batch.first

    def on_no_room(self) -> bool:
        """The publisher has no room for one more reader: `tick` asks again. Returns whether that is news."""
        self.heard_at = None
        news = not self.turned_away
        self.turned_away = True
        return news

    def on_heartbeat(self, last: int, now: float) -> Subscribe | None:
        """The publisher's newest sample is `last`; ask again if two heartbeats in a row found the same one missing."""
        self.heard_at = now
        self.newest = max(self.newest, last)
        self.ack_now = True
        missing = self.next is not None and last >= self.next and self.taken >= self.queued
        stuck = missing and self._next_at_heartbeat == self.next
        self._next_at_heartbeat = self.next if missing else None
        return self.subscribe(now) if stuck and not self._asking else None

    def tick(self, now: float) -> Subscribe | None:
        """Ask again when the publisher is silent or has not answered, and when there is room for what was dropped."""
        if self.overflowed and self.queued_weight - self.taken_weight < WINDOW_BYTES:
            return self.subscribe(now)
        heard = self.heard_at if self.heard_at is not None else self.asked_at
        quiet_since = max(heard, self.asked_at)
        return self.subscribe(now) if now - quiet_since > SILENT_FOR_S and not self.refused else None

    @property
    def missing(self) -> int:
        """How many samples the publisher is known to have that did not come."""
        return 0 if self.next is None else max(0, self.newest + 1 - self.next)

    def silent_s(self, now: float) -> float:
        """Seconds since the publisher was last heard, infinite when never."""
        return float("inf") if self.heard_at is None else now - self.heard_at

    def quiet_s(self, now: float) -> float:
        """Seconds since the publisher was last heard, or, if never, since it has been read where it is."""
        return now - (self.began_at if self.heard_at is None else self.heard_at)

    def sign_of_life(self) -> Ack | None:
        """How far the reader is, whether that is news or not."""
        if self.next is None:
            return None
        return Ack(self.stream, self.next - 1, self.taken, self.safe, self.reader_epoch, self.readers)

    @property
    def is_said(self) -> bool:
        """Whether the publisher has been told how far the reader is."""
        return self.next is None or self._said == (self.next - 1, self.taken, self.safe, self.readers)

    def ack(self, now: float) -> Ack | None:
        """How far the reader is, when that is news or has not been said for a while."""
        if self.next is None:
            return None
        state = (self.next - 1, self.taken, self.safe, self.readers)
        waited_s = now - self._said_at
        if state == self._said:
            due = waited_s >= ACK_EVERY_S
        else:
            due = self.ack_now or waited_s >= ACK_PAUSE_S or self._unsaid_batches >= ACK_BATCHES
        if not due:
            return None
        self.ack_now = False
        self._unsaid_batches = 0
        self._said = state
        self._said_at = now
        received, taken, safe, readers = state
        return Ack(self.stream, received, taken, safe, self.reader_epoch, readers)
