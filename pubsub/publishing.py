"""The I/O side of a publisher: takes what the application appended, cuts it into batches, and serves readers.

The I/O thread does all of it but for one thing: a sample published while that thread sleeps is sent by the thread of
the application, which saves waking the other. A lock passes the ROUTER from one thread to the other; the I/O thread
polls its descriptor only, and touches the socket itself under the lock.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import zmq

from chord.effects import Operation
from chord.errors import RemoteProtocolError
from chord.messages import Entry
from chord.sockets import Socket
from pubsub import messages
from pubsub.batch import encode, fitting
from pubsub.io_thread import IoThread
from pubsub.limits import BATCH_BYTES, MAX_BATCH_SAMPLES, MAX_READERS, SAMPLE_OVERHEAD_BYTES
from pubsub.messages import Ack, FromPublisher, Gone, Heartbeat, Incompatible, Subscribe, Subscribed, Unreadable
from pubsub.mismatch import MISMATCHES_KEPT, Mismatch
from pubsub.outbox import Outbox
from pubsub.profile import explain, incompatible
from pubsub.registration import SUBSCRIBER, keep_publisher, withdraw
from pubsub.trace import PublicationTrace
from pubsub.writer import Reader, Writer

HEARTBEAT_S = 0.5
TRACE_S = 1.0
MESSAGES_AT_ONCE = 256
BATCHES_AT_ONCE = 8

# As plain numbers: arithmetic with zmq's enumerations costs more than sending.
NOBLOCK = int(zmq.NOBLOCK)
MORE = int(zmq.SNDMORE) | NOBLOCK
EVENTS = int(zmq.EVENTS)
RCVMORE = int(zmq.RCVMORE)
POLLIN = int(zmq.POLLIN)

BURST_US = 300
"""A sample this soon after the last batch is left to the I/O thread, so that a burst fills batches."""


class Publishing:
    """Serves the readers of one publisher. Everything here runs in the I/O thread, but for `offer` and `dirty`."""

    def __init__(self, io: IoThread, router: Socket, producer: int) -> None:
        self.dirty: deque[Outbox] = deque()
        self.mismatches: deque[Mismatch] = deque(maxlen=MISMATCHES_KEPT)
        self.on_mismatch: Callable[[Mismatch], None] | None = None
        self._io = io
        self._router = router
        self._producer = producer
        self._gate = io.gate
        self._outboxes: dict[str, Outbox] = {}
        self._held: dict[str, Outbox] = {}
        self._by_route: dict[tuple[bytes, int], tuple[Outbox, Reader]] = {}
        self._lock = threading.Lock()
        self._heartbeat_at = 0.0
        self._trace_at = 0.0

    def open(self, outbox: Outbox) -> None:
        """Serve a topic, and register for it."""
        with self._lock:
            self._outboxes[outbox.topic] = outbox

        def registered(entries: list[Entry]) -> None:
            names = [entry.entry.removeprefix(SUBSCRIBER) for entry in entries if entry.entry.startswith(SUBSCRIBER)]
            with self._lock:
                outbox.writer.settle(names, time.monotonic())
                self._held[outbox.topic] = outbox

        self._io.driver.start(keep_publisher(self._io.ring, outbox.registration, registered))

    def start(self) -> None:
        """Listen to readers. `work` follows whatever wakes the thread, and reads them."""
        self._io.driver.watch(self._router.fileno(), lambda: None)

    def offer(self, outbox: Outbox, now_us: int) -> None:
        """The application published the first sample since the last batch: send it, or see to it that it is sent."""
        if self._io.idle and now_us - outbox.sent_us > BURST_US and self._lock.acquire(blocking=False):
            try:
                self._serve(outbox)
                # Sending may have taken note of what arrived, and the descriptor will not tell again.
                missed = bool(self.dirty) or self._is_readable()
            finally:
                self._lock.release()
            if not missed:
                return
        else:
            self.dirty.append(outbox)
        if self._io.idle:
            self._io.wake()

    def solicit(self) -> None:
        """Have readers say at once how far they are. Posted by the application that waits for them."""
        with self._lock:
            for outbox in self._outboxes.values():
                self._beat(outbox)

    def finish(self) -> list[Operation[Any]]:
        """Send what is left, say good-bye to the readers, and take the entries off the ring."""
        with self._lock:
            self._say_good_bye()
        return [withdraw(self._io.ring, outbox.registration) for outbox in self._outboxes.values()]

    def _say_good_bye(self) -> None:
        for outbox in self._outboxes.values():
            self._serve(outbox)
            for reader in outbox.writer.readers.values():
                self._say(reader.route, Gone(reader.stream, f"publisher {self._io.name} closed"))
        self._trace()

    def work(self, now: float) -> bool:
        """Serve the topics in which something happened; returns whether there is more already."""
        with self._lock:
            return self._work(now)

    def _work(self, now: float) -> bool:
        more = self._hear(now)
        held = self._held
        if held:
            self._held = {}
            for outbox in held.values():
                self._serve(outbox)
        dirty = self.dirty
        for _ in range(len(dirty)):
            outbox = dirty.popleft()
            self._serve(outbox)
        if now >= self._heartbeat_at:
            self._heartbeat_at = now + HEARTBEAT_S
            self._tick(now)
        return more or bool(dirty)

    # Batches -------------------------------------------------------------------------------------------------------

    def _serve(self, outbox: Outbox) -> None:
        """Send what readers have room for, cut new batches, and say how much more the application may publish."""
        writer = outbox.writer
        outbox.dirty = False
        self._send(writer)
        for _ in range(BATCHES_AT_ONCE):
            if not outbox.times:
                break
            if not writer.wants_more and not self._is_full(outbox):
                outbox.dirty = True
                self._held[outbox.topic] = outbox  # until a reader has room, or the application has to wait
                break
            self._cut(outbox)
            self._send(writer)
        else:
            self.dirty.append(outbox)
        writer.trim()
        outbox.limit = writer.limit()
        outbox.delivered = writer.delivered
        outbox.settled = writer.settled
        outbox.readers = len(writer.readers)
        self._gate.open()

    def _is_full(self, outbox: Outbox) -> bool:
        pending = outbox.weight - outbox.writer.log.weight
        return pending >= BATCH_BYTES or len(outbox.times) >= MAX_BATCH_SAMPLES

    def _cut(self, outbox: Outbox) -> None:
        """Put as many samples as fit into one batch, and that into the log."""
        payloads = outbox.payloads[: min(len(outbox.times), MAX_BATCH_SAMPLES)]
        count, lengths = fitting(payloads)
        del payloads[count:]
        frame = encode(outbox.origin, outbox.writer.log.next_sequence, payloads, outbox.times[:count], lengths)
        del outbox.payloads[:count]
        del outbox.times[:count]
        outbox.sent_us = time.time_ns() // 1000
        outbox.writer.append(frame, count, sum(lengths) + SAMPLE_OVERHEAD_BYTES * count)

    def _send(self, writer: Writer) -> None:
        send = self._router.send
        for reader in writer.readers.values():
            for batch in writer.due(reader):
                try:
                    # A route that cannot be reached is refused with the first frame, so the two never come apart.
                    send(reader.route, MORE)
                    send(batch.frame, NOBLOCK)
                except zmq.Again:
                    break
                except zmq.ZMQError:
                    reader.detached_at = time.monotonic()
                    break
                reader.sent(batch)

    # Readers -------------------------------------------------------------------------------------------------------

    def _hear(self, now: float) -> bool:
        """Read what readers say; returns whether there is more of it."""
        router = self._router
        if not self._is_readable():
            return False
        for _ in range(MESSAGES_AT_ONCE):
            try:
                route = router.recv(NOBLOCK)
            except zmq.Again:
                return False
            frame = router.recv(NOBLOCK)  # libzmq delivers a message whole or not at all
            if router.getsockopt(RCVMORE):
                # No message of ours, so its frames are dropped one by one: there may be millions.
                while router.getsockopt(RCVMORE):
                    router.recv(NOBLOCK)
            else:
                self._on_frame(route, frame, now)
        return True

    def _is_readable(self) -> bool:
        events: int = self._router.getsockopt(EVENTS)  # type: ignore[assignment]  # an int, for this option
        return bool(events & POLLIN)

    def _on_frame(self, route: bytes, frame: bytes, now: float) -> None:
        try:
            message = messages.from_subscriber(frame)
        except RemoteProtocolError as error:
            self._say(route, Unreadable(str(error)))
            return
        if type(message) is Subscribe:
            self._subscribe(route, message, now)
            return
        known = self._by_route.get((route, message.stream))
        if known is None:
            self._say(route, Gone(message.stream, "no such stream"))
            return
        outbox, reader = known
        if type(message) is Ack:
            outbox.writer.acknowledge(reader, message, now)
        else:
            self._forget(outbox, reader)
        self._held[outbox.topic] = outbox

    def _subscribe(self, route: bytes, message: Subscribe, now: float) -> None:
        outbox = self._outboxes.get(message.topic)
        if outbox is None or message.publisher != self._producer:
            self._say(route, Gone(message.stream, f"{self._io.name} does not publish {message.topic!r}"))
            return
        writer = outbox.writer
        policies = incompatible(writer.offered, message.requested)
        if policies:
            text = explain(writer.offered, message.requested, policies)
            self._say(route, Incompatible(message.stream, policies, text))
            writer.refuse(message.reader)
            self._held[outbox.topic] = outbox
            self._mismatch(Mismatch(message.topic, message.reader, policies, text))
            return
        old = writer.readers.get(message.reader)
        if old is not None:
            self._by_route.pop((old.route, old.stream), None)
        if len(self._by_route) >= MAX_READERS:
            self._say(route, Gone(message.stream, f"{self._io.name} has {MAX_READERS} readers already"))
            return
        reader, after = writer.subscribe(route, message, now)
        self._by_route[route, reader.stream] = (outbox, reader)
        self._say(route, Subscribed(reader.stream, after))
        self._held[outbox.topic] = outbox

    def _mismatch(self, mismatch: Mismatch) -> None:
        if mismatch not in self.mismatches:
            self.mismatches.append(mismatch)
            if self.on_mismatch is not None:
                self.on_mismatch(mismatch)

    def _forget(self, outbox: Outbox, reader: Reader) -> None:
        self._by_route.pop((reader.route, reader.stream), None)
        if outbox.writer.readers.get(reader.name) is reader:
            outbox.writer.remove(reader.name)

    def _say(self, route: bytes, message: FromPublisher) -> bool:
        try:
            self._router.send_multipart((route, messages.encode(message)), NOBLOCK)
        except zmq.ZMQError:
            return False  # it is gone or full; if it lives, it asks again
        return True

    # Time ----------------------------------------------------------------------------------------------------------

    def _tick(self, now: float) -> None:
        for outbox in self._outboxes.values():
            for gone in outbox.writer.lapse(now):
                self._by_route.pop((gone.route, gone.stream), None)
            self._beat(outbox)
            self._serve(outbox)
        if now >= self._trace_at:
            self._trace_at = now + TRACE_S
            self._trace()

    def _beat(self, outbox: Outbox) -> None:
        """Tell every reader of a topic what the newest sample is."""
        for reader in outbox.writer.readers.values():
            alive = self._say(reader.route, Heartbeat(reader.stream, outbox.writer.log.next_sequence - 1))
            if not alive and reader.detached_at is None:
                reader.detached_at = time.monotonic()

    def _trace(self) -> None:
        spool = self._io.spool
        if spool is None:
            return
        at_us = time.time_ns() // 1000
        for outbox in self._outboxes.values():
            last = outbox.writer.log.next_sequence - 1
            if last > outbox.traced:
                first = outbox.traced + 1
                publisher = f"{self._producer:016x}"
                spool.append(
                    PublicationTrace(topic=outbox.topic, publisher=publisher, first=first, last=last, at_us=at_us)
                )
                outbox.traced = last
