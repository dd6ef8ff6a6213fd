"""The clients of a sweep, a process each. They end with the process that started them, or when stdin is closed.

    python -m experiments.sweep.roles publisher DISSEMINATION TOPIC COUNT RATE TRACES VIA...
    python -m experiments.sweep.roles subscriber DISSEMINATION TOPIC COUNT RATE TRACES VIA...

Each says `ready ID` on stdout. A publisher then waits for a line on stdin; a subscriber says `got N` once it has all
that it is meant to get, or what it has when stdin is closed.
"""

from __future__ import annotations

import os
import random
import select
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from pubsub.client import Publisher, Subscriber

PAYLOAD = b"x" * 100
READERS_WITHIN_S = 60.0
FLUSH_WITHIN_S = 30.0
LOOK_S = 0.2


def publish(brokered: bool, topic: str, count: int, rate: float, traces: Path, via: list[str]) -> None:
    """Publish so many samples, `rate` a second, not at the same moments as others do."""
    with Publisher(via, brokered=brokered, trace=traces) as publisher:
        publisher.advertise(topic)
        publisher.wait_for_readers(topic, 1, READERS_WITHIN_S)
        print(f"ready {publisher.id}", flush=True)
        os.read(0, 1)
        for _ in paced(count, rate):
            publisher.publish(topic, PAYLOAD)
        publisher.flush(FLUSH_WITHIN_S)


def subscribe(brokered: bool, topic: str, count: int, traces: Path, via: list[str]) -> None:
    """Receive so many samples."""
    received = 0
    with Subscriber([topic], via, brokered=brokered, trace=traces) as subscriber:
        print(f"ready {subscriber.id}", flush=True)
        while received < count and not select.select([0], [], [], 0)[0]:
            received += len(subscriber.receive_batch(LOOK_S))
    print(f"got {received}", flush=True)


def paced(count: int, rate: float) -> Iterator[int]:
    """Counts up to `count`, `rate` a second, from a random moment within the first interval on."""
    started = time.monotonic() + random.random() / rate
    for number in range(count):
        time.sleep(max(0.0, started + number / rate - time.monotonic()))
        yield number


def main() -> None:
    """Play the part that the arguments name."""
    part, dissemination, topic, count, rate, traces, *via = sys.argv[1:]
    brokered = dissemination == "brokered"
    if part == "publisher":
        publish(brokered, topic, int(count), float(rate), Path(traces), via)
    else:
        subscribe(brokered, topic, int(count), Path(traces), via)


if __name__ == "__main__":
    main()
