"""Subscriber: what an application receives samples with."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType

from chord.errors import LocalProtocolError
from chord.identifiers import hexadecimal
from chord.names import normalise
from pubsub.connection import Arrived
from pubsub.errors import Closed, NotRegistered
from pubsub.io_thread import IoThread
from pubsub.limits import WINDOW_BYTES
from pubsub.mismatch import Mismatch
from pubsub.profile import profile
from pubsub.registration import LEASE_S
from pubsub.sample import Sample
from pubsub.subscribing import Subscribing
from pubsub.zones import check_choice, least_loaded


class Subscriber:
    """Receives the samples of some topics from every publisher of them. For one application thread.

        with Subscriber(["flights.JFK"], via=["127.0.0.1:5000"], history=10) as subscriber:
            for sample in subscriber:
                print(sample.payload)

    `via`: ring nodes. `history`: past samples to get from each publisher, which must offer as many. `reliability`,
    `durability`: what is requested (pubsub/profile.py). `host`, `port`, `advertise`: where the ring reaches this
    subscriber with news. `on_sample` is called for each sample instead of iterating: in the I/O thread, at once. While
    it has not returned nothing else is received, and after ten seconds the ring forgets the subscriber, for new
    publishers, until it has; the publishers it reads wait for it. Its first error ends the subscriptions, and
    `close` raises it. `on_mismatch` is called, in the I/O thread, for each publisher that offers less than is
    requested, and `on_warning` with a sentence when the ring refuses a topic, a publisher has no room for one more
    reader, or `on_sample` failed; by default that is logged.
    `trace`: a directory to leave traces in. `brokered`: every publisher is read at the primary of a zone, which `zone`
    names, else it is the one with the fewest clients.

    Once it is made it is registered: it gets the first sample of every publisher that comes later. Raises
    NotRegistered when the ring does not answer within `patience_s`.
    """

    def __init__(
        self,
        topics: list[str],
        via: list[str],
        history: int = 0,
        reliability: str = "at_least_once",
        durability: str | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        advertise: str | None = None,
        cluster: str = "ringcast",
        patience_s: float = 5.0,
        lease_s: float = LEASE_S,
        trace: Path | str | None = None,
        on_sample: Callable[[Sample], object] | None = None,
        on_mismatch: Callable[[Mismatch], None] | None = None,
        on_warning: Callable[[str], None] | None = None,
        brokered: bool = False,
        zone: str | None = None,
    ) -> None:
        check_choice(brokered, zone)
        names = list(dict.fromkeys(normalise(topic) for topic in topics))
        if not names:
            raise LocalProtocolError("a subscriber needs at least one topic")
        self.requested = profile(reliability, history, durability)
        self.id = hexadecimal(random.Random().getrandbits(64))
        self._closed = False
        self._current: Iterator[Sample] = iter(())
        self._arrived: Arrived | None = None
        self._untold = 0
        self._io = io = IoThread(f"subscriber-{self.id}", via, cluster, patience_s, trace, on_warning)
        router, self.address, _ = io.bind_router(host, port, advertise)
        io.kernel.address = self.address
        self._subscribing = Subscribing(io, self.id, self.requested, names, lease_s)
        self._subscribing.mismatches.listener = on_mismatch
        self._subscribing.on_sample = on_sample
        self._queue = self._subscribing.queue
        io.changed = self._subscribing.finding.on_changed
        io.work = self._subscribing.work
        io.finish = self._subscribing.finish
        io.start(router)
        try:
            self.zone = zone or (io.run(least_loaded) if brokered else "")
            self._subscribing.finding.prepare(self.zone)
            io.post(self._subscribing.finding.start)
            self._wait_until_registered(patience_s + 1.0)
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> Iterator[Sample]:
        """Every sample from now on; ends when the subscriber is closed by another thread."""
        while True:
            yield from self._current
            try:
                if not self._advance(-1.0):
                    return
            except Closed:
                return

    def receive(self, timeout_s: float = -1.0) -> Sample | None:
        """The next sample, or None when none came within the time (negative: wait for ever)."""
        while True:
            for sample in self._current:
                return sample
            if not self._advance(timeout_s):
                return None

    def receive_batch(self, timeout_s: float = -1.0) -> list[Sample]:
        """The next samples that are there already, one or more of one topic and publisher; empty after the time."""
        while True:
            samples = list(self._current)
            if samples or not self._advance(timeout_s):
                return samples

    @property
    def lost(self) -> int:
        """Samples known to be missed: dropped for a best-effort reader, no longer kept when they were asked for, or not
        received from a publisher that is gone."""
        return self._subscribing.finding.lost

    @property
    def publishers(self) -> list[tuple[str, str]]:
        """Topic and identifier of every publisher that is read, or tried."""
        return self._subscribing.finding.publishers()

    @property
    def mismatches(self) -> list[Mismatch]:
        """The publishers that offer less than is requested."""
        return list(self._subscribing.mismatches.latest)

    def close(self) -> None:
        """Tell the publishers, take the entries off the ring, and end. What was not taken is dropped."""
        if self._closed:
            return
        self._closed = True
        if self._arrived is not None:
            self._arrived.left = len(list(self._current))
            self._let_go()
        self._io.gate.open()
        self._io.stop()
        if self._subscribing.failed is not None:
            raise self._subscribing.failed

    def __enter__(self) -> Subscriber:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _advance(self, timeout_s: float) -> bool:
        """Take the next batch off the queue, waiting for it; False when none came within the time."""
        self._let_go()
        queue = self._queue
        if not queue:
            if not self._io.wait(lambda: bool(queue) or self._closed, timeout_s):
                return False
            if not queue:
                raise Closed("this subscriber is closed")
        self._arrived = arrived = queue.popleft()
        self._current = arrived.samples()
        return True

    def _let_go(self) -> None:
        """The application has taken the whole of the batch that it had."""
        arrived = self._arrived
        if arrived is None:
            return
        self._arrived = None
        arrived.let_go()
        if self._io.tracing.on:
            self._subscribing.taken.append(arrived)
        self._untold += arrived.weight
        if self._untold >= WINDOW_BYTES // 4:
            self._untold = 0
            arrived.subscription.ack_now = True
            self._subscribing.urgent = True
            if self._io.idle:
                self._io.wake()

    def _wait_until_registered(self, patience_s: float) -> None:
        def missing() -> list[str]:
            return [each.missing for each in self._subscribing.finding.registrations.values() if not each.registered]

        def done() -> bool:
            return self._subscribing.failed is not None or not missing()

        if not self._io.wait(done, patience_s) and (why := missing()):
            raise NotRegistered(why[0])
