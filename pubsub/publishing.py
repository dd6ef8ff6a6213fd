"""The I/O side of a publisher: when what the application appended is sent to readers, and by which thread.

The I/O thread does all of it but for one thing: a sample published while that thread sleeps is sent by the thread of
the application, which saves waking the other. A lock passes the ROUTER from one thread to the other; the I/O thread
polls its descriptor only, and touches the socket itself under the lock.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from chord.effects import Operation
from chord.identifiers import hexadecimal
from chord.messages import Entry
from chord.sockets import Socket
from pubsub.hearing import Hearing
from pubsub.io_thread import IoThread
from pubsub.messages import Gone, Heartbeat, Subscribe
from pubsub.mismatch import Mismatches
from pubsub.outbox import Outbox
from pubsub.registration import keep, keep_listed, keep_publisher, withdraw
from pubsub.sending import Sending
from pubsub.trace import PublicationTrace
from pubsub.zones import readers_of, tell_if_unserved

HEARTBEAT_S = 0.5
STOOD_STILL_S = 2.0
"""A pause between two heartbeats from which on the publisher stood still itself, stopped or swapped out."""

UNHEARD_TICKS = 10
"""Heartbeats for which readers are not given up while some of what they said has not been read."""

TRACE_S = 1.0
BATCHES_AT_ONCE = 8


class Publishing:
    """Serves the readers of one publisher.

    The application calls `offer`, `send_at_once` and `mend`, and posts `open` and `solicit`; the rest runs in the I/O
    thread. Whatever touches the ROUTER, a log or a reader holds the lock.
    """

    def __init__(self, io: IoThread, router: Socket, producer: int) -> None:
        self.dirty: deque[Outbox] = deque()
        self._io = io
        self._router = router
        self._producer = producer
        self.zone = ""
        """Whose brokers read this publisher, if any do."""
        self.mismatches = Mismatches()
        self._gate = io.gate
        self._outboxes: dict[str, Outbox] = {}
        self._sending = Sending(router)
        self.hearing: Hearing[Outbox] = Hearing(
            io.name, io.warn, router, self._admit, lambda _outbox, mismatch: self.mismatches.add(mismatch)
        )
        self._ended = False
        self._lock = threading.RLock()  # its owner may release it once too often: see `send_at_once`
        self._heartbeat_at = time.monotonic()
        self._unheard_ticks = 0
        self._trace_at = 0.0

    def join(self, zone: str) -> None:
        """Be read by the brokers of a zone. Called by the application, before it opens a topic."""
        self.zone = zone

        def watch() -> None:
            self._io.driver.start(tell_if_unserved(self._io.ring, zone, self._io.warn))

        self._io.post(watch)

    def open(self, outbox: Outbox) -> None:
        """Serve a topic, and register for it. Twice does no harm."""
        if outbox.topic in self._outboxes:
            return
        with self._lock:
            self._outboxes[outbox.topic] = outbox

        def registered(entries: list[Entry]) -> None:
            readers = readers_of(entries, "", self.zone)
            best_effort = [name for name, reliable in readers.items() if not reliable]
            with self._lock:
                outbox.writer.settle(readers, time.monotonic(), best_effort)
                self.hearing.touch(outbox)

        start, ring = self._io.driver.start, self._io.ring
        if outbox.in_zone is not None:
            start(keep(ring, outbox.in_zone))
        start(keep_publisher(ring, outbox.registration, registered))
        start(keep_listed(ring, outbox.registration))

    def _admit(self, _route: bytes, message: Subscribe) -> Outbox | Gone:
        outbox = self._outboxes.get(message.topic)
        return Gone(message.stream) if outbox is None or message.publisher != self._producer else outbox

    def start(self) -> None:
        """Listen to readers. `work` follows whatever wakes the thread, and reads them."""
        self._io.driver.watch(self._router.fileno(), lambda: None)

    def offer(self, outbox: Outbox) -> None:
        """The application published the first sample since the last batch: see to it that it is sent."""
        self.dirty.append(outbox)
        if self._io.idle:
            self._io.wake()

    def send_at_once(self, outbox: Outbox, payload: bytes, time_us: int) -> bool:
        """Publish a sample in the application's thread, which saves waking the other.

        False, and nothing done, when other samples wait, some reader has no room, or the I/O thread is at it. Whatever
        interrupts this, the lock is given back, and `mend` sets right what was broken off.
        """
        try:
            if not self._lock.acquire(blocking=False):
                return False
            done = not self._ended and not outbox.times and outbox.writer.is_level
            if done:
                self._sending.single(outbox, payload, time_us)
                # Sending may have taken note of what arrived, and the descriptor will not tell again.
                if self.hearing.is_readable():
                    self._io.wake()
            self._lock.release()
            return done
        except BaseException:
            self._let_go()
            raise

    def mend(self, outbox: Outbox) -> None:
        """An interrupt broke off `publish`. Called by the application."""
        with self._lock:
            outbox.mend()
            if not self._ended:
                self._sending.mend()
            outbox.dirty = True
        self.offer(outbox)

    def _let_go(self) -> None:
        with suppress(RuntimeError):  # this thread does not have it
            self._lock.release()

    def solicit(self) -> None:
        """Have readers say at once how far they are. Posted by the application that waits for them."""
        with self._lock:
            for outbox in self._outboxes.values():
                self._beat(outbox)

    def end(self, outboxes: Iterable[Outbox]) -> None:
        """An error has ended the I/O thread: nothing more is sent, and `publish` has to wait, which raises it."""
        with self._lock:
            self._ended = True
            for outbox in outboxes:
                outbox.limit = 0

    def finish(self) -> list[Operation[Any]]:
        """Send what is left, say good-bye to the readers, and take the entries off the ring."""
        with self._lock:
            self._say_good_bye()
        kept = [each for outbox in self._outboxes.values() for each in (outbox.registration, outbox.in_zone)]
        return [withdraw(self._io.ring, registration) for registration in kept if registration is not None]

    def _say_good_bye(self) -> None:
        for outbox in self._outboxes.values():
            self._serve(outbox)
            self._beat(outbox, unsent=len(outbox.times))
            for reader in outbox.writer.readers.values():
                self.hearing.say(reader.route, Gone(reader.stream))
        self._trace()

    def work(self, now: float) -> bool:
        """Serve the topics in which something happened; returns whether there is more already."""
        with self._lock:
            return self._work(now)

    def _work(self, now: float) -> bool:
        more = self.hearing.hear(now)
        held = self.hearing.touched
        if held:
            self.hearing.touched = {}
            for outbox in held.values():
                self._serve(outbox)
        dirty = self.dirty
        for _ in range(len(dirty)):
            outbox = dirty.popleft()
            self._serve(outbox)
        if now >= self._heartbeat_at:
            self._rise(now, now - self._heartbeat_at)
            self._heartbeat_at = now + HEARTBEAT_S
            self._tick(now, more)
        return more or bool(dirty)

    def _serve(self, outbox: Outbox) -> None:
        """Send what readers have room for, cut new batches, and say how much more the application may publish."""
        writer = outbox.writer
        outbox.dirty = False
        self._sending.fill_windows(writer)
        for _ in range(BATCHES_AT_ONCE):
            if not outbox.times:
                break
            if not writer.wants_more and not outbox.is_full:
                outbox.dirty = True
                self.hearing.touch(outbox)  # until a reader has room, or the application has to wait
                break
            outbox.cut(time.time_ns() // 1000)
            self._sending.fill_windows(writer)
        else:
            self.dirty.append(outbox)
        outbox.tell()
        self._gate.open()

    def _rise(self, now: float, late_s: float) -> None:
        """Do not hold against the readers that this publisher stood still itself, when it did."""
        if late_s > STOOD_STILL_S:
            for outbox in self._outboxes.values():
                outbox.writer.stood_still(late_s, now)

    def _tick(self, now: float, unheard: bool) -> None:
        # Readers seem silent to a publisher that was stopped itself, until it has heard what they said meanwhile.
        self._unheard_ticks = self._unheard_ticks + 1 if unheard else 0
        for outbox in self._outboxes.values():
            if self._unheard_ticks % UNHEARD_TICKS == 0:
                self.hearing.forget_silent(outbox, now)
            self._beat(outbox)
            self._serve(outbox)
        if now >= self._trace_at:
            self._trace_at = now + TRACE_S
            self._trace()

    def _beat(self, outbox: Outbox, unsent: int = 0) -> None:
        """Tell every reader of a topic what the newest sample is, with those that will never be in a batch."""
        newest = outbox.writer.log.next_sequence - 1 + unsent
        for reader in outbox.writer.readers.values():
            alive = self.hearing.say(reader.route, Heartbeat(reader.stream, newest))
            if not alive and reader.detached_at is None:
                reader.detached_at = time.monotonic()

    def _trace(self) -> None:
        if not self._io.tracing.on:
            return
        at_us = time.time_ns() // 1000
        for outbox in self._outboxes.values():
            last = outbox.writer.log.next_sequence - 1
            if last > outbox.traced:
                first = outbox.traced + 1
                publisher = hexadecimal(self._producer)
                self._io.tracing.append(
                    PublicationTrace(topic=outbox.topic, publisher=publisher, first=first, last=last, at_us=at_us)
                )
                outbox.traced = last
