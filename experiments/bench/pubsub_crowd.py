"""Many brokered publishers, or many subscribers, in one process: for `bench clients`.

Every client has `TOPICS_EACH` of three topics: subscribers take them all, publishers go through theirs in turn. A
process says `ready` when all of its clients are connected. Publishers then wait for a line, publish at `rate` a second
each, out of step with each other, and say how many samples that were on each topic. Subscribers are told the sum of
that, and say how many came, how many of them again, and what their latencies were.

    python -m experiments.bench.pubsub_crowd publishers VIA COUNT TOPICS_EACH RATE SECONDS
    python -m experiments.bench.pubsub_crowd subscribers VIA COUNT TOPICS_EACH
"""

from __future__ import annotations

import heapq
import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from pubsub.client import Publisher, Sample, Subscriber

TOPICS = ("A", "B", "C")
SIZE = 100
READY_S = 120.0
ARRIVE_S = 60.0
POLL_S = 0.05


def topics_of(number: int, topics_each: int) -> tuple[str, ...]:
    """The topics of one client, by its number."""
    return tuple(TOPICS[(number + turn) % len(TOPICS)] for turn in range(topics_each))


def publishers(via: str, count: str, topics_each: str, rate: str, seconds: str) -> None:
    """So many publishers, all driven by this thread."""
    with ExitStack() as stack:
        crowd = []
        for number in range(int(count)):
            publisher = stack.enter_context(Publisher(via=[via], brokered=True))
            crowd.append((publisher, topics_of(number, int(topics_each))))
        for publisher, topics in crowd:
            for topic in topics:
                publisher.advertise(topic)
        for publisher, topics in crowd:
            for topic in topics:
                publisher.wait_for_readers(topic, 1, READY_S)
        print("ready", flush=True)
        sys.stdin.readline()
        print(json.dumps(_publish(crowd, float(rate), float(seconds))), flush=True)
        sys.stdin.readline()


def _publish(crowd: list[tuple[Publisher, tuple[str, ...]]], rate: float, seconds: float) -> dict[str, Any]:
    """Publish for so long; how many samples on each topic, and by how many seconds the last one was late."""
    began_at = time.perf_counter()
    due = [(began_at + random.random() / rate, number, 0) for number in range(len(crowd))]
    heapq.heapify(due)
    published = dict.fromkeys(TOPICS, 0)
    late_s = 0.0
    while due[0][0] < began_at + seconds:
        at, number, turn = due[0]
        wait_s = at - time.perf_counter()
        if wait_s > 0:
            time.sleep(wait_s)
        else:
            late_s = -wait_s
        publisher, topics = crowd[number]
        topic = topics[turn % len(topics)]
        publisher.publish(topic, bytes(SIZE))
        published[topic] += 1
        heapq.heapreplace(due, (at + 1 / rate, number, turn + 1))
    for publisher, _ in crowd:
        publisher.flush(ARRIVE_S)
    return {"published": published, "late_s": late_s}


class Audience:
    """What one subscriber of some topics got, noted in the thread that reads its socket."""

    def __init__(self, topics: tuple[str, ...]) -> None:
        self.topics = topics
        self.latencies_us: list[int] = []
        self.seen: set[tuple[str, str, int]] = set()

    def add(self, sample: Sample) -> None:
        """Note a sample."""
        self.latencies_us.append(time.time_ns() // 1000 - sample.published_us)
        self.seen.add((sample.topic, sample.publisher, sample.sequence))

    def lacks(self, published: dict[str, int]) -> int:
        """How many of so many samples on each topic have not come."""
        return sum(published[topic] for topic in self.topics) - len(self.seen)


def subscribers(via: str, count: str, topics_each: str) -> None:
    """So many subscribers, each with its own I/O thread."""
    with ExitStack() as stack:
        audiences = [Audience(topics_of(number, int(topics_each))) for number in range(int(count))]
        for audience in audiences:
            stack.enter_context(Subscriber(list(audience.topics), via=[via], brokered=True, on_sample=audience.add))
        print("ready", flush=True)
        published = json.loads(sys.stdin.readline())
        deadline = time.monotonic() + ARRIVE_S
        while any(audience.lacks(published) for audience in audiences) and time.monotonic() < deadline:
            time.sleep(POLL_S)
        print(json.dumps(_heard(audiences, published)), flush=True)
        sys.stdin.readline()


def _heard(audiences: list[Audience], published: dict[str, int]) -> dict[str, float]:
    """Latencies in microseconds, over all of these subscribers."""
    latencies = sorted(latency for audience in audiences for latency in audience.latencies_us)
    return {
        "received": len(latencies),
        "twice": len(latencies) - sum(len(audience.seen) for audience in audiences),
        "lost": sum(audience.lacks(published) for audience in audiences),
        "sum_us": sum(latencies),
        "p50_us": statistics.median(latencies) if latencies else 0,
        "p99_us": latencies[len(latencies) * 99 // 100] if latencies else 0,
    }


KINDS: dict[str, Callable[..., None]] = {"publishers": publishers, "subscribers": subscribers}

if __name__ == "__main__":
    KINDS[sys.argv[1]](*sys.argv[2:])
