"""One number of clients of a sweep, in one dissemination: pairs of a publisher and a subscriber, a process each."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from broker.local_ring import LocalRing
from broker.stack import LocalStack
from experiments.rings.settle import wait_for_full_lists
from experiments.sweep.crew import Crew, Work
from experiments.sweep.plan import describe
from experiments.traces.run import TRACES, SubscriberInfo

NODES = 8
ZONES = 2
REPLICAS = 3

RATE = 20.0
"""Samples a second of each publisher: modest, so that what is measured is the way, not a queue."""

SAMPLES = 100
"""Samples of each publisher, 100 bytes each."""

VIA = 3
"""Nodes that each client is told of."""


def sweep_clients(part: Path, mode: str, clients: int, told: Callable[[int], None]) -> None:
    """Start a ring and its clients, have each pair share a topic, and leave the deliveries' traces in `part`.

    `told` hears how many pairs are done. Raises ProcessFailed when a process ends early or a sample does not come.
    """
    info = describe(part, NODES, clients)
    pairs = range(clients // 2)
    with _reached(mode) as via, Crew(Work(mode, SAMPLES, RATE, part / TRACES, via)) as crew:
        info.save(part)
        subscribers = [crew.start("subscriber", f"sweep/{pair + 1}") for pair in pairs]
        ids = [subscriber.ready() for subscriber in subscribers]
        info.subscribers = {
            each: SubscriberInfo(topics=[subscriber.topic], from_start=True, label=f"{mode} {subscriber.topic}")
            for each, subscriber in zip(ids, subscribers, strict=True)
        }
        info.save(part)
        publishers = [crew.start("publisher", f"sweep/{pair + 1}") for pair in pairs]
        for publisher in publishers:
            publisher.ready()
        for publisher in publishers:
            publisher.begin()
        for done, subscriber in enumerate(subscribers, 1):
            subscriber.got_all()
            told(done)
        for client in (*publishers, *subscribers):
            client.ended()


@contextmanager
def _reached(mode: str) -> Iterator[list[str]]:
    """A ring for direct dissemination, or a whole stack; the nodes that clients are told of."""
    if mode == "direct":
        with LocalRing() as ring:
            ring.grow(NODES)
            wait_for_full_lists(ring)
            yield ring.addresses()[:VIA]
    else:
        with (
            tempfile.TemporaryDirectory(prefix="ringcast-") as folder,
            LocalStack(Path(folder), NODES, ZONES, REPLICAS) as stack,
        ):
            wait_for_full_lists(stack.ring)
            yield stack.via
