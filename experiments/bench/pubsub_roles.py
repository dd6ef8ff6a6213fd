"""The processes of the publish/subscribe benchmarks, which experiments/bench/pubsub_pair.py starts: ours, and the rest.

A publisher waits for a line on stdin before it begins, and ends with the process that started it. A subscriber says
`ready`, and then what it got. `dissemination` is direct or brokered.

    python -m experiments.bench.pubsub_roles ROLE ARGUMENTS...
"""

from __future__ import annotations

import sys
import threading
import time
from importlib import import_module

from experiments.bench.pubsub_report import RUN_S, START_S, TOPIC, paced, report


def ours_publisher(via: str, dissemination: str, count: str, size: str, rate: str = "0") -> None:
    """Publishes so many samples of so many bytes."""
    from pubsub.client import Publisher

    payload = b"x" * int(size)
    with Publisher(via=[via], brokered=dissemination == "brokered") as publisher:
        publisher.advertise(TOPIC)
        publisher.wait_for_readers(TOPIC, 1, START_S)
        sys.stdin.readline()
        publish = publisher.publish
        for _ in paced(int(count), float(rate)):
            publish(TOPIC, payload)
        publisher.flush(RUN_S)
        sys.stdin.readline()


def ours_subscriber(via: str, dissemination: str, count: str) -> None:
    """Iterates, as an application does."""
    from pubsub.client import Subscriber

    wanted = int(count)
    with Subscriber([TOPIC], via=[via], brokered=dissemination == "brokered") as subscriber:
        print("ready", flush=True)
        received = 0
        in_order = True
        started_at = 0.0
        for sample in subscriber:
            if not received:
                started_at = time.perf_counter()
            received += 1
            if sample.sequence != received:
                in_order = False
            if sample.sequence >= wanted:
                break
        report(received, in_order, time.perf_counter() - started_at, [])


def ours_callback(via: str, dissemination: str, count: str) -> None:
    """Is called back in the thread that reads the socket, as the subscribers of Zenoh and NATS are."""
    from pubsub.client import Sample, Subscriber

    wanted = int(count)
    sequences: list[int] = []
    latencies: list[float] = []
    done = threading.Event()

    def on_sample(sample: Sample) -> None:
        latencies.append(time.time_ns() / 1000 - sample.published_us)
        sequences.append(sample.sequence)
        if sample.sequence >= wanted:
            done.set()

    with Subscriber([TOPIC], via=[via], brokered=dissemination == "brokered", on_sample=on_sample):
        print("ready", flush=True)
        done.wait(RUN_S)
        report(len(sequences), sequences == list(range(1, wanted + 1)), 0.0, latencies)


ROLES = {
    "ours-publisher": "experiments.bench.pubsub_roles.ours_publisher",
    "ours-subscriber": "experiments.bench.pubsub_roles.ours_subscriber",
    "ours-callback": "experiments.bench.pubsub_roles.ours_callback",
    "zenoh-publisher": "experiments.bench.pubsub_zenoh.publisher",
    "zenoh-subscriber": "experiments.bench.pubsub_zenoh.subscriber",
    "zenoh-router": "experiments.bench.pubsub_zenoh.router",
    "nats-publisher": "experiments.bench.pubsub_nats.publisher",
    "nats-subscriber": "experiments.bench.pubsub_nats.subscriber",
}

if __name__ == "__main__":
    module, _, function = ROLES[sys.argv[1]].rpartition(".")
    getattr(import_module(module), function)(*sys.argv[2:])
