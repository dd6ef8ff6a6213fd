"""The clients of a cell, a process each. They end with the process that started them, or when stdin is closed.

    python -m experiments.sweep.roles ROLE        with ROLE as JSON, of the Role below

Each says `ready ID` on stdout. A publisher then waits for a line on stdin; a subscriber says `got N` once it has all
that it is meant to get, or what it has when a line comes or stdin is closed.
"""

from __future__ import annotations

import os
import random
import select
import sys
import time
from collections.abc import Iterator
from typing import Literal

import msgspec

from pubsub.client import Publisher, Subscriber

READERS_WITHIN_S = 60.0
FLUSH_WITHIN_S = 30.0
LOOK_S = 0.2


class Role(msgspec.Struct, frozen=True, kw_only=True):
    """What one client does. A publisher waits for so many `readers`; a subscriber is to get `expected` samples."""

    role: Literal["publisher", "subscriber"]
    dissemination: str
    topic: str
    traces: str
    via: list[str]
    samples: int = 0
    rate: float = 1.0
    payload_bytes: int = 0
    readers: int = 1
    expected: int = 0


def publish(role: Role) -> None:
    """Publish so many samples, `rate` a second, not at the same moments as others do."""
    payload = b"x" * role.payload_bytes
    with Publisher(role.via, brokered=role.dissemination == "brokered", trace=role.traces) as publisher:
        publisher.advertise(role.topic)
        publisher.wait_for_readers(role.topic, role.readers, READERS_WITHIN_S)
        print(f"ready {publisher.id}", flush=True)
        os.read(0, 1)
        for _ in paced(role.samples, role.rate):
            publisher.publish(role.topic, payload)
        publisher.flush(FLUSH_WITHIN_S)


def subscribe(role: Role) -> None:
    """Receive so many samples."""
    received = 0
    brokered = role.dissemination == "brokered"
    with Subscriber([role.topic], role.via, brokered=brokered, trace=role.traces) as subscriber:
        print(f"ready {subscriber.id}", flush=True)
        while received < role.expected and not select.select([0], [], [], 0)[0]:
            received += len(subscriber.receive_batch(LOOK_S))
    print(f"got {received}", flush=True)


def paced(count: int, rate: float) -> Iterator[int]:
    """Counts up to `count`, `rate` a second, from a random moment within the first interval on."""
    started = time.monotonic() + random.random() / rate
    for number in range(count):
        time.sleep(max(0.0, started + number / rate - time.monotonic()))
        yield number


def main() -> None:
    """Play the role in the argument."""
    role = msgspec.json.decode(sys.argv[1], type=Role)
    if role.role == "publisher":
        publish(role)
    else:
        subscribe(role)


if __name__ == "__main__":
    main()
