"""The processes of a workload, each on its host. They end with the process that started them.

    python -m experiments.mininet.roles asker    JSON
    python -m experiments.mininet.roles publisher JSON
    python -m experiments.mininet.roles subscriber JSON

Each prints lines of a word and a value. A publisher says `ready ID` and waits for a line on stdin before it sends; then
`sent N` now and then, and `done N`. A subscriber says `ready ID`, and `got N` now and then, until it has everything or
is told by a line to end. The asker says `asked N` now and then.
"""

from __future__ import annotations

import random
import select
import sys
import time
from collections.abc import Iterator
from contextlib import suppress

import msgspec
import zmq

from chord.asking import Ring
from chord.errors import RingcastError
from chord.kernel import Kernel
from chord.settings import Settings
from chord.sockets import bind, make_context, make_socket, raise_descriptor_limit
from chord.tracing import Tracing
from chord.zmq_driver import ZmqDriver
from experiments.capture.tokens import payload
from pubsub.client import Publisher, Subscriber
from pubsub.errors import NotDelivered

FLUSH_WITHIN_S = 30.0
LOOK_S = 0.2
TELL_S = 0.25
BURST_S = 0.5
"""How far behind its rate a publisher or asker may fall and still catch up."""


class Asking(msgspec.Struct, kw_only=True):
    """What the asker is told: it asks each of `via` in turn, `rate` a second (0: one after the other)."""

    host: str
    via: list[str]
    count: int
    rate: float
    mode: str
    traces: str
    seed: int


class Sharing(msgspec.Struct, kw_only=True):
    """What a publisher or subscriber is told."""

    host: str
    via: list[str]
    topic: str
    brokered: bool
    traces: str
    index: int = 0
    count: int = 0
    rate: float = 0.0
    payload_bytes: int = 0


def ask(told: Asking) -> None:
    """Random names, in turn through each node; no owner is cached. A lookup that fails is a row like any other."""
    context = make_context()
    kernel = Kernel(Settings().cluster, "mininet", random.Random(told.seed))
    router = make_socket(context, zmq.ROUTER) if told.mode == "recursive" else None
    answer_at = f"{told.host}:{bind(router, told.host, 0)}" if router is not None else ""
    tracing = Tracing(None, "mininet", "")

    def keep(row: msgspec.Struct) -> None:
        tracing.append(row)

    driver = ZmqDriver(context, kernel, router, keep)
    others = told.via
    rings = [Ring(kernel, [*others[at:], *others[:at]], answer_at=answer_at) for at in range(len(others))]

    def look_up(ring: Ring) -> RingcastError | None:
        outcome = driver.start(ring.locate(f"mininet/{kernel.rng.getrandbits(48):x}"))
        driver.run(lambda: outcome.done)
        return outcome.error

    for ring in rings:  # connects it to all of them, and leaves no trace
        look_up(ring)
    tracing = Tracing(told.traces, "mininet", "the lookups do not")
    say = Saying("asked")
    print("ready asker", flush=True)
    sys.stdin.readline()
    for number in paced(told.count, told.rate):
        look_up(rings[number % len(rings)])
        tracing.flush_if_due()
        say(number + 1)
    driver.close()
    context.destroy(linger=0)
    tracing.close()
    say(told.count, last=True)


def publish(told: Sharing) -> None:
    """Publish so many samples, `rate` a second, not at the same moments as others do."""
    with Publisher(told.via, host=told.host, brokered=told.brokered, trace=told.traces) as publisher:
        publisher.advertise(told.topic)
        print(f"ready {publisher.id}", flush=True)
        while not select.select([0], [], [], LOOK_S)[0]:
            print(f"readers {publisher.readers(told.topic)}", flush=True)
        sys.stdin.readline()
        say = Saying("sent")
        time.sleep(random.random() / told.rate if told.rate else 0.0)
        for number in paced(told.count, told.rate):
            publisher.publish(told.topic, payload(told.index, number + 1, told.payload_bytes))
            say(number + 1)
        say(told.count, last=True)
        with suppress(NotDelivered):  # to a subscriber whose host is gone, for one; what came is counted there
            publisher.flush(FLUSH_WITHIN_S)
    print(f"done {told.count}", flush=True)


def subscribe(told: Sharing) -> None:
    """Receive so many samples, or what comes until a line says that it is enough."""
    received = 0
    say = Saying("got")
    with Subscriber([told.topic], told.via, host=told.host, brokered=told.brokered, trace=told.traces) as subscriber:
        print(f"ready {subscriber.id}", flush=True)
        while received < told.count and not select.select([0], [], [], 0)[0]:
            received += len(subscriber.receive_batch(LOOK_S))
            say(received)
    say(received, last=True)
    print(f"done {received}", flush=True)


def paced(count: int, rate: float) -> Iterator[int]:
    """Counts up to `count`, `rate` a second (0: as fast as one likes), with no long burst after a stand-still."""
    due = time.monotonic()
    for number in range(count):
        if rate:
            time.sleep(max(0.0, due - time.monotonic()))
            due = max(due + 1 / rate, time.monotonic() - BURST_S)
        yield number


class Saying:
    """Says a number now and then, and the last one."""

    def __init__(self, word: str) -> None:
        self._word = word
        self._due = 0.0

    def __call__(self, number: int, last: bool = False) -> None:
        if last or time.monotonic() >= self._due:
            self._due = time.monotonic() + TELL_S
            print(f"{self._word} {number}", flush=True)


def main() -> None:
    """Play the part that the arguments name."""
    part, told = sys.argv[1:]
    raise_descriptor_limit()
    if part == "asker":
        ask(msgspec.json.decode(told, type=Asking))
    else:
        {"publisher": publish, "subscriber": subscribe}[part](msgspec.json.decode(told, type=Sharing))


if __name__ == "__main__":
    main()
