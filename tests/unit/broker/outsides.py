"""What stands in for a process around parts of a replica: it notes what it is asked to do."""

from __future__ import annotations

import random
from typing import Any

from broker.place import Place
from broker.stream import BACKUP, Stream
from broker.streams import Streams
from broker.zone_state import Term
from chord.effects import Operation
from chord.kernel import Kernel
from chord.messages import Entry
from pubsub.batch import Batch
from pubsub.encoding import encode
from pubsub.layout import Origin
from pubsub.messages import Ack, PublisherRecord, Subscribe, Subscribed
from pubsub.profile import Profile
from pubsub.zone_view import Fence
from tests.property.broker.fake_ring import FakeRing

OFFERED = Profile("at_least_once", "transient", 5)
SOURCE = PublisherRecord("p:1", OFFERED, "z")
PRODUCER = 7
ME = Place("a", "a:1", "z")


class Outside:
    """Whatever is said is kept, in order; operations run when time passes."""

    def __init__(self) -> None:
        self.kernel = Kernel("test", "notify", random.Random(1))
        self.told: list[tuple[bytes, Any]] = []
        self.asked: list[tuple[str, Any]] = []
        self.proposed: list[frozenset[str]] = []
        self.forgotten: list[Stream] = []
        self.readmitted: list[bytes] = []
        self.warnings: list[str] = []
        self.looks = 0
        self.reachable = True
        self.warn = self.warnings.append
        self.changes: list[Entry] = []
        self.ring: Any = FakeRing(self.now, lambda _notify, entry: self.changes.append(entry))

    def now(self) -> float:
        return self.kernel.now

    def pass_time(self, seconds: float) -> float:
        """Run what is due, in small steps."""
        until = self.kernel.now + seconds
        while self.kernel.now < until:
            self.kernel.on_timer(min(until, self.kernel.now + 0.01))
        return until

    def begin(self, operation: Operation[Any]) -> None:
        self.kernel.start(operation)

    def tell(self, route: bytes, message: Any) -> bool:
        self.told.append((route, message))
        return self.reachable

    def ask(self, address: str, message: Any) -> None:
        self.asked.append((address, message))

    def asked_for(self, kind: type) -> list[Any]:
        """What was asked of one kind since the last time."""
        found = [message for _, message in self.asked if type(message) is kind]
        self.asked.clear()
        return found

    def readmit(self, route: bytes, _message: Subscribe) -> None:
        self.readmitted.append(route)

    def touch(self, stream: Stream) -> None:
        pass

    def forget(self, stream: Stream) -> None:
        self.forgotten.append(stream)

    def forget_all(self) -> None:
        pass

    def propose(self, _epoch: int, in_sync: frozenset[str]) -> None:
        self.proposed.append(in_sync)

    def look_again(self) -> None:
        self.looks += 1

    def event(self, kind: str, detail: str) -> None:
        pass


def term(in_sync: str = "a", live: str = "abc", epoch: int = 3, leader: str = "a") -> Term:
    return Term(epoch, leader, f"{leader}:1", frozenset(in_sync), frozenset(live))


def batch(first: int, last: int, producer: int = PRODUCER, zone_epoch: int = 0) -> Batch:
    count = last - first + 1
    frame = encode(Origin("t", 1, producer), first, [b"x"] * count, [0] * count)
    frame[16:20] = zone_epoch.to_bytes(4, "little")
    return Batch(bytes(frame))


def led(streams: Streams, began_after: int = 0, newest: int = 0, producer: int = PRODUCER) -> Stream:
    """A stream that a primary reads, which awaits no reader; it has what comes after `began_after` up to `newest`."""
    stream = streams.add("t", producer, SOURCE)
    assert stream is not None
    stream.lead(3)
    stream.read("p:1", "zone/z", Fence(), 3, 0.0)
    stream.on_subscribed(Subscribed(stream.number, began_after, newest), 0.0)
    stream.writer.settle([], 0.0)
    for sequence in range(began_after + 1, newest + 1):
        assert stream.take(batch(sequence, sequence, producer), 0.0)
    return stream


def backup_has(stream: Stream, broker: str, received: int) -> None:
    """A backup reads a stream, and is so far."""
    name = BACKUP + broker
    reader = stream.writer.readers.get(name)
    if reader is None:
        asked = Subscribe(1, "t", stream.producer, name, OFFERED, None, True)
        reader, _ = stream.writer.subscribe(broker.encode(), asked, 0.0)
    for logged in stream.writer.due(reader):
        reader.sent(logged)
    stream.writer.acknowledge(reader, Ack(1, received, received), 0.0)
