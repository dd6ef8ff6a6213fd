"""Publisher: what an application publishes with."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from chord.errors import LocalProtocolError, TooLarge
from chord.identifiers import hexadecimal
from chord.names import normalise
from pubsub import messages
from pubsub.errors import Closed, NotDelivered, NotRegistered, WindowFull
from pubsub.io_thread import IoThread
from pubsub.layout import Origin
from pubsub.limits import MAX_PAYLOAD_BYTES, SAMPLE_OVERHEAD_BYTES
from pubsub.messages import PublisherRecord
from pubsub.mismatch import Mismatch
from pubsub.outbox import Outbox
from pubsub.profile import profile
from pubsub.publishing import Publishing
from pubsub.registration import LEASE_S, PUBLISHER, Registration
from pubsub.writer import Writer
from pubsub.zones import check_choice, client_entry, clients_of, least_loaded, record_of

time_ns = time.time_ns
CLOSE_FLUSH_S = 5.0

BURST_US = 300
"""A sample this soon after the last batch is left to the I/O thread, so that a burst fills batches."""

MAX_FORMS = 10_000
"""Topics of one publisher, counting each written form that is not normal."""


class Publisher:
    """Publishes samples on topics, straight to their subscribers or through brokers. For one application thread.

        with Publisher(via=["127.0.0.1:5000"], history=100) as publisher:
            publisher.publish("flights.JFK", b"departed")

    `via`: ring nodes. `history`: past samples of each topic kept for late joiners. `reliability`, `durability`: what is
    offered (pubsub/profile.py). `host`, `port`, `advertise`: where subscribers reach this publisher. `block_s`: how
    long `publish` waits for a slow reader. `lease_s`: how soon the ring forgets a publisher that crashed. `trace`: a
    directory to leave traces in. `brokered`: samples go to the primary of a zone, which keeps them for the
    subscribers of all zones; `zone` names it, else it is the one with the fewest clients. `on_mismatch` is called, in
    the I/O thread, for each subscriber that requests more than is offered. `on_warning` is called there with a sentence
    for each subscriber that was given up though it lacks samples, when there is no room for another, and when the ring
    refuses a topic; by default they are logged.
    """

    def __init__(
        self,
        via: list[str],
        history: int = 0,
        reliability: str = "at_least_once",
        durability: str | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        advertise: str | None = None,
        cluster: str = "ringcast",
        block_s: float = 30.0,
        patience_s: float = 5.0,
        lease_s: float = LEASE_S,
        trace: Path | str | None = None,
        on_mismatch: Callable[[Mismatch], None] | None = None,
        on_warning: Callable[[str], None] | None = None,
        brokered: bool = False,
        zone: str | None = None,
    ) -> None:
        self.offered = profile(reliability, history, durability)
        if self.offered.durability == "persistent":
            raise LocalProtocolError("nothing offers persistent durability yet: brokers keep samples in memory")
        check_choice(brokered, zone)
        self.block_s = block_s
        self._lease_s = lease_s
        self._outboxes: dict[str, Outbox] = {}
        self._closed = False
        self._producer = random.Random().getrandbits(64) or 1
        self.id = hexadecimal(self._producer)
        self._io = io = IoThread(f"publisher-{self.id}", via, cluster, patience_s, trace, on_warning)
        router, self.address, self.port = io.bind_router(host, port, advertise)
        self._publishing = Publishing(io, router, self._producer)
        self._publishing.mismatches.listener = on_mismatch
        io.begin = self._publishing.start
        io.work = self._publishing.work
        io.finish = self._publishing.finish
        io.died = lambda: self._publishing.end(list(self._outboxes.values()))
        io.start()
        if brokered or zone:
            try:
                self._publishing.join(zone or io.run(least_loaded))
            except BaseException:
                self.close(0.0)
                raise

    @property
    def zone(self) -> str:
        """The zone whose brokers read this publisher; empty for direct dissemination."""
        return self._publishing.zone

    def publish(self, topic: str, payload: bytes) -> int:
        """Publish one sample and return its sequence: 1, 2, ... for each topic.

        Returns before the sample is sent. Blocks while the slowest at-least-once reader has no room, and raises
        WindowFull after `block_s`. Raises TooLarge, InvalidName or Closed; whatever of these it raises, nothing was
        published. After an interrupt (Ctrl-C) the sample may have been, and the next one may be as ever.
        """
        try:
            outbox = self._outboxes[topic]
        except KeyError:
            outbox = self._open(topic)
        if type(payload) is not bytes or len(payload) > MAX_PAYLOAD_BYTES:
            payload = _checked(payload)
        weight = outbox.weight + len(payload) + SAMPLE_OVERHEAD_BYTES
        if weight > outbox.limit:
            self._wait_for_room(outbox, weight)
        try:
            now_us = time_ns() // 1000
            if (
                self._io.idle
                and not outbox.dirty
                and now_us - outbox.sent_us > BURST_US
                and self._publishing.send_at_once(outbox, payload, now_us)
            ):
                return outbox.sequence
            outbox.weight = weight
            outbox.payloads.append(payload)
            outbox.times.append(now_us)
            outbox.sequence = sequence = outbox.sequence + 1
            if not outbox.dirty:
                outbox.dirty = True
                self._publishing.offer(outbox)
            return sequence
        except BaseException:
            self._publishing.mend(outbox)
            raise

    def advertise(self, topic: str) -> None:
        """Register for a topic before its first sample. Raises NotRegistered when the ring does not answer."""
        outbox = self._outboxes.get(topic) or self._open(topic)
        patience_s = self._io.ring.patience_s + 1.0
        if not self._io.wait(lambda: outbox.writer.registered, patience_s):
            raise NotRegistered(outbox.registration.missing)

    def flush(self, timeout_s: float = 30.0) -> None:
        """Wait until every sample has been received by every matched at-least-once reader.

        Through a zone that is the zone: every broker in sync has the samples, for its subscribers to get. It includes
        the subscribers, or zones, that were registered before this publisher, for as long as they are awaited.
        Raises NotDelivered, which names who lacks what, also when a reader was given up since the last time.
        """
        outboxes = list(dict.fromkeys(self._outboxes.values()))

        def done() -> bool:
            return all(outbox.delivered >= outbox.sequence and outbox.settled for outbox in outboxes)

        if not done():
            self._io.post(self._publishing.solicit)
            if not self._io.wait(done, timeout_s):
                lacking = (
                    "; ".join(filter(None, map(self._lacking, outboxes))) or "not every reader has said so in time"
                )
                raise NotDelivered(f"not delivered within {timeout_s:.1f} s: {lacking}")
        given_up = [f"{outbox.topic!r}: {text}" for outbox in outboxes for text in _given_up(outbox)]
        if given_up:
            raise NotDelivered("not delivered on topic " + "; ".join(given_up[:5]))

    def wait_for_readers(self, topic: str, count: int, timeout_s: float) -> None:
        """Wait until `count` readers of a topic are connected. Raises NotDelivered."""
        outbox = self._outboxes.get(topic) or self._open(topic)
        if not self._io.wait(lambda: outbox.readers >= count, timeout_s):
            raise NotDelivered(f"{outbox.readers} of {count} readers of {topic!r} connected within {timeout_s:.1f} s")

    def readers(self, topic: str) -> int:
        """How many readers of a topic are connected."""
        outbox = self._outboxes.get(topic)
        return outbox.readers if outbox else 0

    @property
    def mismatches(self) -> list[Mismatch]:
        """The subscribers that requested more than is offered."""
        return list(self._publishing.mismatches.latest)

    def close(self, flush_s: float = CLOSE_FLUSH_S) -> None:
        """Flush for at most `flush_s`, take the entries off the ring, and end. Raises NotDelivered, once closed."""
        if self._closed:
            return
        try:
            if flush_s > 0:
                self.flush(flush_s)
        finally:
            self._closed = True
            self._outboxes.clear()
            self._io.stop()

    def __enter__(self) -> Publisher:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(CLOSE_FLUSH_S if kind is None else 0.0)

    def _open(self, topic: str) -> Outbox:
        """The outbox of a topic, by whatever form of its name."""
        if self._closed:
            raise Closed("this publisher is closed")
        name = normalise(topic)
        outbox = self._outboxes.get(name)
        if outbox is None:
            outbox = self._outbox(name)
            self._outboxes[name] = outbox
            self._post_open(outbox)
            if self._io.failure is not None:
                outbox.limit = 0  # the thread that would have done so has ended already
        if topic != name and len(self._outboxes) < MAX_FORMS:
            self._outboxes[topic] = outbox
        return outbox

    def _outbox(self, topic: str) -> Outbox:
        value = messages.encode(PublisherRecord(self.address, self.offered, self.zone))

        def registration(record: str, entry: str) -> Registration:
            return Registration(record, entry, value, lease_s=self._lease_s, warn=self._io.warn)

        on_topic = registration(topic, PUBLISHER + self.id)
        in_zone = registration(clients_of(self.zone), client_entry(self.id, topic)) if self.zone else None
        own = record_of(self.zone) if self.zone else ""
        origin = Origin(topic, self._io.ring.space.key(topic), self._producer)
        return Outbox(origin, Writer(self.offered, own), on_topic, in_zone)

    def _post_open(self, outbox: Outbox) -> None:
        try:
            self._io.post(lambda: self._publishing.open(outbox))
        except BaseException:
            self._io.post(lambda: self._publishing.open(outbox))  # interrupted, before or after
            raise

    def _wait_for_room(self, outbox: Outbox, weight: int) -> None:
        if self._io.idle:
            self._io.wake()  # samples may be held until somebody waits for room
        if self._io.wait(lambda: weight <= outbox.limit, self.block_s):
            return
        if not outbox.writer.registered:
            raise WindowFull(outbox.registration.missing)
        raise WindowFull(
            f"sample {outbox.sequence + 1} of {outbox.topic!r} was not published within {self.block_s:.1f} s: "
            f"{self._lacking(outbox) or 'its readers have no room'}"
        )

    def _lacking(self, outbox: Outbox) -> str:
        """Who lacks samples of a topic, as the I/O thread sees it."""
        if not outbox.writer.registered:
            return outbox.registration.missing
        told: list[list[str]] = []
        self._io.post(lambda: told.append(outbox.writer.behind(outbox.sequence)))
        self._io.wait(lambda: bool(told), 1.0)
        behind = ", ".join(told[0][:5]) if told else ""
        return f"of the {outbox.sequence} samples of {outbox.topic!r}, {behind}" if behind else ""


def _given_up(outbox: Outbox) -> list[str]:
    """Who was given up without samples that it was to get, each told once."""
    unsaid = outbox.writer.unsaid
    notes = [unsaid.pop(reader, None) for reader in list(unsaid)]
    return [note.text for note in notes if note is not None]


def _checked(payload: bytes) -> bytes:
    """A payload as bytes of its own. Raises TooLarge, or TypeError for what has no bytes."""
    if isinstance(payload, str):
        raise TypeError("a payload is bytes; encode the string first")
    payload = bytes(memoryview(payload))
    if len(payload) > MAX_PAYLOAD_BYTES:
        raise TooLarge(f"a payload of {len(payload)} bytes was refused: at most {MAX_PAYLOAD_BYTES} bytes are allowed")
    return payload
