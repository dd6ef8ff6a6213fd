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
from pubsub.gate import Gate
from pubsub.io_thread import IoThread
from pubsub.limits import BATCH_BYTES, MAX_BATCH_SAMPLES, MAX_READERS, SAMPLE_OVERHEAD_BYTES
from pubsub.messages import Ack, FromPublisher, Gone, Heartbeat, Incompatible, Subscribe, Subscribed, Unreadable
from pubsub.mismatch import MISMATCHES_KEPT, Mismatch
from pubsub.profile import explain, incompatible
from pubsub.registration import SUBSCRIBER, keep_publisher, withdraw
from pubsub.stream import Stream
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
POLLIN = int(zmq.POLLIN)

BURST_US = 300
"""A sample this soon after the last batch is left to the I/O thread, so that a burst fills batches."""


class Publishing:
    """Serves the readers of one publisher. Everything here runs in the I/O thread, but for `offer` and `dirty`."""

    def __init__(self, io: IoThread, router: Socket, producer: int, gate: Gate) -> None:
        self.dirty: deque[Stream] = deque()
        self.mismatches: deque[Mismatch] = deque(maxlen=MISMATCHES_KEPT)
        self.on_mismatch: Callable[[Mismatch], None] | None = None
        self._io = io
        self._router = router
        self._producer = producer
        self._gate = gate
        self._streams: dict[str, Stream] = {}
        self._held: dict[str, Stream] = {}
        self._by_route: dict[tuple[bytes, int], tuple[Stream, Reader]] = {}
        self._lock = threading.Lock()
        self._heartbeat_at = 0.0
        self._trace_at = 0.0

    def open(self, stream: Stream) -> None:
        """Serve a topic, and register for it."""
        with self._lock:
            self._streams[stream.topic] = stream

        def registered(entries: list[Entry]) -> None:
            names = [entry.entry.removeprefix(SUBSCRIBER) for entry in entries if entry.entry.startswith(SUBSCRIBER)]
            with self._lock:
                stream.writer.settle(names, time.monotonic())
                self._held[stream.topic] = stream

        self._io.driver.start(keep_publisher(self._io.ring, stream.registration, registered))

    def start(self) -> None:
        """Listen to readers. `work` follows whatever wakes the thread, and reads them."""
        self._io.driver.watch(self._router.fileno(), lambda: None)

    def offer(self, stream: Stream, now_us: int) -> None:
        """The application published the first sample since the last batch: send it, or see to it that it is sent."""
        if self._io.idle and now_us - stream.sent_us > BURST_US and self._lock.acquire(blocking=False):
            try:
                self._serve(stream)
                # Sending may have taken note of what arrived, and the descriptor will not tell again.
                missed = bool(self.dirty) or self._is_readable()
            finally:
                self._lock.release()
            if not missed:
                return
        else:
            self.dirty.append(stream)
        if self._io.idle:
            self._io.wake()

    def solicit(self) -> None:
        """Have readers say at once how far they are. Posted by the application that waits for them."""
        with self._lock:
            for stream in self._streams.values():
                self._beat(stream)

    def finish(self) -> list[Operation[Any]]:
        """Send what is left, say good-bye to the readers, and take the entries off the ring."""
        with self._lock:
            self._say_good_bye()
        return [withdraw(self._io.ring, stream.registration) for stream in self._streams.values()]

    def _say_good_bye(self) -> None:
        for stream in self._streams.values():
            self._serve(stream)
            for reader in stream.writer.readers.values():
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
            for stream in held.values():
                self._serve(stream)
        dirty = self.dirty
        for _ in range(len(dirty)):
            stream = dirty.popleft()
            self._serve(stream)
        if now >= self._heartbeat_at:
            self._heartbeat_at = now + HEARTBEAT_S
            self._tick(now)
        return more or bool(dirty)

    # Batches -------------------------------------------------------------------------------------------------------

    def _serve(self, stream: Stream) -> None:
        """Send what readers have room for, cut new batches, and say how much more the application may publish."""
        writer = stream.writer
        stream.dirty = False
        self._send(writer)
        for _ in range(BATCHES_AT_ONCE):
            if not stream.times:
                break
            if not writer.wants_more and not self._is_full(stream):
                stream.dirty = True
                self._held[stream.topic] = stream  # until a reader has room, or the application has to wait
                break
            self._cut(stream)
            self._send(writer)
        else:
            self.dirty.append(stream)
        writer.trim()
        stream.limit = writer.limit()
        stream.delivered = writer.delivered
        stream.settled = writer.settled
        stream.readers = len(writer.readers)
        self._gate.open()

    def _is_full(self, stream: Stream) -> bool:
        pending = stream.weight - stream.writer.log.weight
        return pending >= BATCH_BYTES or len(stream.times) >= MAX_BATCH_SAMPLES

    def _cut(self, stream: Stream) -> None:
        """Put as many samples as fit into one batch, and that into the log."""
        payloads = stream.payloads[: min(len(stream.times), MAX_BATCH_SAMPLES)]
        count, lengths = fitting(payloads)
        del payloads[count:]
        frame = encode(stream.origin, stream.writer.log.next_sequence, payloads, stream.times[:count], lengths)
        del stream.payloads[:count]
        del stream.times[:count]
        stream.sent_us = time.time_ns() // 1000
        stream.writer.append(frame, count, sum(lengths) + SAMPLE_OVERHEAD_BYTES * count)

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
                frames = router.recv_multipart(NOBLOCK)
            except zmq.Again:
                return False
            if len(frames) == 2:
                self._on_frame(frames[0], frames[1], now)
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
        stream, reader = known
        if type(message) is Ack:
            stream.writer.acknowledge(reader, message, now)
        else:
            self._forget(stream, reader)
        self._held[stream.topic] = stream

    def _subscribe(self, route: bytes, message: Subscribe, now: float) -> None:
        stream = self._streams.get(message.topic)
        if stream is None or message.publisher != self._producer:
            self._say(route, Gone(message.stream, f"{self._io.name} does not publish {message.topic!r}"))
            return
        writer = stream.writer
        policies = incompatible(writer.offered, message.requested)
        if policies:
            text = explain(writer.offered, message.requested, policies)
            self._say(route, Incompatible(message.stream, policies, text))
            writer.refuse(message.reader)
            self._held[stream.topic] = stream
            self._mismatch(Mismatch(message.topic, message.reader, policies, text))
            return
        old = writer.readers.get(message.reader)
        if old is not None:
            self._by_route.pop((old.route, old.stream), None)
        if len(self._by_route) >= MAX_READERS:
            self._say(route, Gone(message.stream, f"{self._io.name} has {MAX_READERS} readers already"))
            return
        reader, after = writer.subscribe(route, message, now)
        self._by_route[route, reader.stream] = (stream, reader)
        self._say(route, Subscribed(reader.stream, after))
        self._held[stream.topic] = stream

    def _mismatch(self, mismatch: Mismatch) -> None:
        if mismatch not in self.mismatches:
            self.mismatches.append(mismatch)
            if self.on_mismatch is not None:
                self.on_mismatch(mismatch)

    def _forget(self, stream: Stream, reader: Reader) -> None:
        self._by_route.pop((reader.route, reader.stream), None)
        if stream.writer.readers.get(reader.name) is reader:
            stream.writer.remove(reader.name)

    def _say(self, route: bytes, message: FromPublisher) -> bool:
        try:
            self._router.send_multipart((route, messages.encode(message)), NOBLOCK)
        except zmq.ZMQError:
            return False  # it is gone or full; if it lives, it asks again
        return True

    # Time ----------------------------------------------------------------------------------------------------------

    def _tick(self, now: float) -> None:
        for stream in self._streams.values():
            for gone in stream.writer.lapse(now):
                self._by_route.pop((gone.route, gone.stream), None)
            self._beat(stream)
            self._serve(stream)
        if now >= self._trace_at:
            self._trace_at = now + TRACE_S
            self._trace()

    def _beat(self, stream: Stream) -> None:
        """Tell every reader of a topic what the newest sample is."""
        for reader in stream.writer.readers.values():
            alive = self._say(reader.route, Heartbeat(reader.stream, stream.writer.log.next_sequence - 1))
            if not alive and reader.detached_at is None:
                reader.detached_at = time.monotonic()

    def _trace(self) -> None:
        spool = self._io.spool
        if spool is None:
            return
        at_us = time.time_ns() // 1000
        for stream in self._streams.values():
            last = stream.writer.log.next_sequence - 1
            if last > stream.traced:
                first = stream.traced + 1
                publisher = f"{self._producer:016x}"
                spool.append(
                    PublicationTrace(topic=stream.topic, publisher=publisher, first=first, last=last, at_us=at_us)
                )
                stream.traced = last
