"""The I/O side of a publisher: takes what the application appended, cuts it into batches, and serves readers."""

from __future__ import annotations

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
from pubsub.batch import Origin, encode, fitting
from pubsub.gate import Gate
from pubsub.io_thread import IoThread
from pubsub.limits import BATCH_BYTES, MAX_BATCH_SAMPLES, MAX_READERS, SAMPLE_OVERHEAD_BYTES
from pubsub.messages import Ack, FromPublisher, Gone, Heartbeat, Incompatible, Subscribe, Subscribed, Unreadable
from pubsub.mismatch import Mismatch
from pubsub.profile import explain, incompatible
from pubsub.registration import SUBSCRIBER, Registration, keep_publisher, withdraw
from pubsub.trace import PublicationTrace
from pubsub.writer import Reader, Writer

HEARTBEAT_S = 0.5
TRACE_S = 1.0
MESSAGES_AT_ONCE = 256
BATCHES_AT_ONCE = 8


class Stream:
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


class Publishing:
    """Serves the readers of one publisher. Everything here runs in the I/O thread, but for `dirty.append`."""

    def __init__(self, io: IoThread, router: Socket, producer: int, gate: Gate) -> None:
        self.dirty: deque[Stream] = deque()
        self.mismatches: list[Mismatch] = []
        self.on_mismatch: Callable[[Mismatch], None] | None = None
        self._io = io
        self._router = router
        self._producer = producer
        self._gate = gate
        self._streams: dict[str, Stream] = {}
        self._held: dict[str, Stream] = {}
        self._by_route: dict[tuple[bytes, int], tuple[Stream, Reader]] = {}
        self._heartbeat_at = 0.0
        self._trace_at = 0.0

    def open(self, stream: Stream) -> None:
        """Serve a topic, and register for it."""
        self._streams[stream.topic] = stream

        def registered(entries: list[Entry]) -> None:
            names = [entry.entry.removeprefix(SUBSCRIBER) for entry in entries if entry.entry.startswith(SUBSCRIBER)]
            stream.writer.settle(names, time.monotonic())
            self._held[stream.topic] = stream

        self._io.driver.start(keep_publisher(self._io.ring, stream.registration, registered))

    def start(self) -> None:
        """Listen to readers."""
        self._io.driver.watch(self._router, self.on_readable)

    def finish(self) -> list[Operation[Any]]:
        """Send what is left, say good-bye to the readers, and take the entries off the ring."""
        for stream in self._streams.values():
            self._serve(stream)
            for reader in stream.writer.readers.values():
                self._say(reader.route, Gone(reader.stream, f"publisher {self._io.name} closed"))
        self._trace(time.monotonic())
        return [withdraw(self._io.ring, stream.registration) for stream in self._streams.values()]

    def work(self, now: float) -> bool:
        """Serve the topics in which something happened; returns whether there is more already."""
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
        return bool(dirty)

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
                stream.dirty = True  # held: it is served again when a reader has room
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
        count = fitting(payloads)
        if count < len(payloads):
            del payloads[count:]
        frame = encode(stream.origin, stream.writer.log.next_sequence, payloads, stream.times[:count])
        del stream.payloads[:count]
        del stream.times[:count]
        stream.writer.append(frame, count, sum(map(len, payloads)) + SAMPLE_OVERHEAD_BYTES * count)

    def _send(self, writer: Writer) -> None:
        for reader in writer.readers.values():
            for batch in writer.due(reader):
                try:
                    self._router.send_multipart((reader.route, batch.frame), zmq.NOBLOCK)
                except zmq.Again:
                    break
                except zmq.ZMQError:
                    reader.detached_at = time.monotonic()
                    break
                reader.sent(batch)

    # Readers -------------------------------------------------------------------------------------------------------

    def on_readable(self) -> None:
        """Hear what readers say."""
        router = self._router
        now = time.monotonic()
        for _ in range(MESSAGES_AT_ONCE):
            try:
                frames = router.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            if len(frames) != 2:
                continue
            route, frame = frames
            try:
                message = messages.from_subscriber(frame)
            except RemoteProtocolError as error:
                self._say(route, Unreadable(str(error)))
                continue
            if type(message) is Subscribe:
                self._subscribe(route, message, now)
                continue
            known = self._by_route.get((route, message.stream))
            if known is None:
                self._say(route, Gone(message.stream, "no such stream"))
                continue
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
            self._mismatch(Mismatch(message.topic, message.reader, policies, text))
            return
        if len(self._by_route) >= MAX_READERS:
            self._say(route, Gone(message.stream, f"{self._io.name} has {MAX_READERS} readers already"))
            return
        old = writer.readers.get(message.reader)
        if old is not None:
            self._by_route.pop((old.route, old.stream), None)
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
            self._router.send_multipart((route, messages.encode(message)), zmq.NOBLOCK)
        except zmq.ZMQError:
            return False  # it is gone or full; if it lives, it asks again
        return True

    # Time ----------------------------------------------------------------------------------------------------------

    def _tick(self, now: float) -> None:
        for stream in self._streams.values():
            for gone in stream.writer.lapse(now):
                self._by_route.pop((gone.route, gone.stream), None)
            for reader in stream.writer.readers.values():
                alive = self._say(reader.route, Heartbeat(reader.stream, stream.writer.log.next_sequence - 1))
                if not alive and reader.detached_at is None:
                    reader.detached_at = now
            self._serve(stream)
        if now >= self._trace_at:
            self._trace_at = now + TRACE_S
            self._trace(now)

    def _trace(self, _now: float) -> None:
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
