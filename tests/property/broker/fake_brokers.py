"""A broker around a production replica, in memory."""

from __future__ import annotations

import random
from typing import Any

import msgspec

from broker import messages
from broker.authority import Contender
from broker.place import Place
from broker.primary import Primary
from broker.replica import Replica
from broker.stream import Stream
from broker.zone_state import Term
from chord.effects import Operation
from chord.kernel import Kernel
from pubsub.batch import Batch
from pubsub.layout import MAGIC
from pubsub.messages import Subscribe
from tests.property.broker.fake_ring import FakeRing
from tests.property.broker.fake_zookeeper import FakeAuthority, FakeZooKeeper
from tests.property.broker.links import Links, Serving


class FakeBroker:
    """What broker/process.py does, without sockets: see broker/outside.py for what the replica asks of it."""

    def __init__(self, place: Place, links: Links, ring: FakeRing, zookeeper: FakeZooKeeper, now: float) -> None:
        self.name = place.broker
        self.place = place
        self.awake = True
        self.notify = f"notify-{place.broker}"
        self.kernel = Kernel("test", self.notify, random.Random(1))
        self.kernel.now = now
        self.ring: Any = ring
        self.warnings: list[str] = []
        self.warn = self.warnings.append
        self._links = links
        self._terms: list[Term] = []
        self.replica = Replica(place, self.notify, self, self._suspect, lambda: None)
        self.authority = FakeAuthority(zookeeper, Contender(place.broker, place.address), self._terms.append)
        self._serving = Serving(links, self.warn, self.replica.admit, self.replica.mismatched, self.replica.on_other)
        self._heard: set[int] = set()
        links.servers[place.address] = self
        self.replica.on_the_ring.start()

    # broker/outside.py ---------------------------------------------------------------------------------------------

    def now(self) -> float:
        return self.kernel.now

    def begin(self, operation: Operation[Any]) -> None:
        self.kernel.start(operation)

    def tell(self, route: bytes, message: msgspec.Struct) -> bool:
        return self._serving.say(route, message)

    def ask(self, address: str, message: msgspec.Struct) -> None:
        self._links.say(self, address, message)

    def readmit(self, route: bytes, message: Subscribe) -> None:
        self._serving.subscribe(route, message, self.now())

    def touch(self, stream: Stream) -> None:
        self._serving.touch(stream)

    def forget(self, stream: Stream) -> None:
        self._serving.forget(stream)

    def forget_all(self) -> None:
        self._serving.forget_all()

    def propose(self, epoch: int, in_sync: frozenset[str]) -> None:
        self.authority.propose(epoch, in_sync)

    def look_again(self) -> None:
        """It looks all the time."""

    def event(self, kind: str, detail: str) -> None:
        pass

    # What comes ----------------------------------------------------------------------------------------------------

    def on_request(self, route: bytes, frame: bytes) -> None:
        self._serving.on_message(route, messages.from_reader(frame), self.now())
        self._serve_touched()

    def on_reply(self, address: str, frame: bytes) -> None:
        if frame[0] == MAGIC:
            stream = self.replica.on_batch(address, Batch(frame), self.now())
            if stream is not None:
                self._serve(stream)
        else:
            self.replica.on_message(address, messages.from_source(frame), self.now())
        self._serve_touched()

    def _suspect(self, broker: str, address: str) -> None:
        if address not in self._links.servers:
            self.authority.suspect(broker, self.now())

    # Time ----------------------------------------------------------------------------------------------------------

    def work(self, now: float) -> None:
        """What is due."""
        self.kernel.on_timer(now)
        self.authority.step(now)
        while self._terms:
            self.replica.on_term(self._terms.pop(0))
        if self.replica.work(now):
            for stream in self.replica.streams.primed:
                self._serving.forget_silent(stream, now)
        self._serve_touched()

    def _serve_touched(self) -> None:
        touched, self._serving.touched = self._serving.touched, {}
        for stream in touched.values():
            self._serve(stream)

    def _serve(self, stream: Stream) -> None:
        self._serving.fill_windows(stream.writer, self.now())
        self.replica.settle_up(stream)

    # What tests look at --------------------------------------------------------------------------------------------

    @property
    def leads(self) -> int:
        """The epoch in which it leads, or 0."""
        role = self.replica.role
        return role.term.epoch if isinstance(role, Primary) else 0

    def next_of(self, topic: str, producer: int) -> int:
        """The first sample of a topic that it lacks."""
        stream = self.replica.streams.by_key.get((topic, producer))
        return 1 if stream is None or stream.upstream.next is None else stream.upstream.next
