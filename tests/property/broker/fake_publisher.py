"""A publisher of a zone in memory: what its driver does, around a production writer."""

from __future__ import annotations

import random
from typing import Any

from chord.identifiers import hexadecimal
from chord.kernel import Kernel
from chord.messages import Entry
from pubsub import messages
from pubsub.encoding import encode
from pubsub.layout import Origin
from pubsub.messages import Gone, Heartbeat, PublisherRecord, Subscribe
from pubsub.profile import Profile
from pubsub.registration import PUBLISHER, Registration, keep, keep_publisher
from pubsub.writer import Writer
from pubsub.zones import client_entry, clients_of, readers_of, record_of
from tests.property.broker.fake_ring import FakeRing
from tests.property.broker.links import Links, Serving

TOPIC = "t"
HEARTBEAT_S = 0.5


class FakePublisher:
    """A publisher of one topic in a zone: pubsub/publishing.py."""

    def __init__(self, number: int, zone: str, links: Links, ring: FakeRing, history: int, now: float) -> None:
        self.name = hexadecimal(number)
        self.address = f"publisher{number}:1"
        self.notify = ""
        self.awake = True
        self.topic = TOPIC
        self.kernel = Kernel("test", self.address, random.Random(1))
        self.kernel.now = now
        self.offered = Profile("at_least_once", "transient" if history else "volatile", history)
        self.writer = Writer(self.offered, record_of(zone))
        self.producer = number
        self.zone = zone
        self.warnings: list[str] = []
        self._origin = Origin(TOPIC, 1, number)
        self._heartbeat_at = 0.0
        self._serving = Serving(links, self.warnings.append, self._admit, lambda _served, _mismatch: None)
        links.servers[self.address] = self
        value = messages.encode(PublisherRecord(self.address, self.offered, zone))

        def registered(entries: list[Entry]) -> None:
            self.writer.settle(readers_of(entries, "", zone), self.kernel.now)

        start = self.kernel.start
        start(keep(ring, Registration(clients_of(zone), client_entry(self.name, TOPIC), value)))
        start(keep_publisher(ring, Registration(TOPIC, PUBLISHER + self.name, value), registered))

    def _admit(self, _route: bytes, message: Subscribe) -> Any:
        known = (message.topic, message.publisher) == (TOPIC, self.producer)
        return self if known else Gone(message.stream)

    @property
    def newest(self) -> int:
        return self.writer.log.next_sequence - 1

    def publish(self, count: int) -> None:
        frame = encode(self._origin, self.newest + 1, [b"x"] * count, [0] * count)
        self.writer.append(bytes(frame), count, 100 * count)
        self._serve()

    def on_request(self, route: bytes, frame: bytes) -> None:
        self._serving.on_message(route, messages.from_subscriber(frame), self.kernel.now)
        self._serve()

    def on_reply(self, _address: str, _frame: bytes) -> None:
        raise AssertionError("a publisher connects to nobody")

    def work(self, now: float) -> None:
        self.kernel.on_timer(now)
        if now >= self._heartbeat_at:
            self._heartbeat_at = now + HEARTBEAT_S
            self._serving.forget_silent(self, now)
            for reader in self.writer.readers.values():
                if not self._serving.say(reader.route, Heartbeat(reader.stream, self.newest)):
                    reader.detached_at = reader.detached_at or now
        self._serve()

    def _serve(self) -> None:
        self._serving.fill_windows(self.writer, self.kernel.now)
        self.writer.trim()
