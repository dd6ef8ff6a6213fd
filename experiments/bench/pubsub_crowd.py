"""Many brokered publishers, or many subscribers, in one process: for `bench clients`.

Every subscriber takes all topics, and every publisher goes through them in turn, as in the prototype that is measured
against. A process says `ready` when all of its clients are connected. Publishers then wait for a line, publish at
`rate` a second each, out of step with each other, and say how many samples that were. Subscribers wait for a line with
how many each of them is to get, and say how many came, how many of them again, and what their latencies were.

    python -m experiments.bench.pubsub_crowd publishers VIA COUNT RATE SECONDS
    python -m experiments.bench.pubsub_crowd subscribers VIA COUNT
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

from pubsub.client import Publisher, Sample, Subscriber

TOPICS = ("A", "B", "C")
SIZE = 100
READY_S = 120.0
ARRIVE_S = 60.0
POLL_S = 0.05


def publishers(via: str, count: str, rate: str, seconds: str) -> None:
    """So many publishers, all driven by this thread."""
    with ExitStack() as stack:
        crowd = [stack.enter_context(Publisher(via=[via], brokered=True)) for _ in range(int(count))]
        for publisher in crowd:
            for topic in TOPICS:
                publisher.advertise(topic)
        for publisher in crowd:
            for topic in TOPICS:
                publisher.wait_for_readers(topic, 1, READY_S)
        print("ready", flush=True)
        sys.stdin.readline()
        print(json.dumps(_publish(crowd, float(rate), float(seconds))), flush=True)
        sys.stdin.readline()


def _publish(crowd: list[Publisher], rate: float, seconds: float) -> dict[str, float]:
    """Publish for so long; how many samples, and by how many seconds the last one was late."""
    began_at = time.perf_counter()
    due = [(began_at + random.random() / rate, number, 0) for number in range(len(crowd))]
    heapq.heapify(due)
    published = 0
    late_s = 0.0
    while due[0][0] < began_at + seconds:
        at, number, turn = due[0]
        wait_s = at - time.perf_counter()
        if wait_s > 0:
            time.sleep(wait_s)
        else:
            late_s = -wait_s
        crowd[number].publish(TOPICS[(number + turn) % len(TOPICS)], bytes(SIZE))
        published += 1
        heapq.heapreplace(due, (at + 1 / rate, number, turn + 1))
    for publisher in crowd:
        publisher.flush(ARRIVE_S)
    return {"published": published, "late_s": late_s}


class Audience:
    """What one subscriber got, noted in the thread that reads its socket."""

    def __init__(self) -> None:
        self.latencies_us: list[int] = []
        self.seen: set[tuple[str, str, int]] = set()

    def add(self, sample: Sample) -> None:
        """Note a sample."""
        self.latencies_us.append(time.time_ns() // 1000 - sample.published_us)
        self.seen.add((sample.topic, sample.publisher, sample.sequence))


def subscribers(via: str, count: str) -> None:
    """So many subscribers, each with its own I/O thread."""
    with ExitStack() as stack:
        audiences = [Audience() for _ in range(int(count))]
        for audience in audiences:
            stack.enter_context(Subscriber(list(TOPICS), via=[via], brokered=True, on_sample=audience.add))
        print("ready", flush=True)
        wanted = int(sys.stdin.readline())
        deadline = time.monotonic() + ARRIVE_S
        while any(len(audience.seen) < wanted for audience in audiences) and time.monotonic() < deadline:
            time.sleep(POLL_S)
        print(json.dumps(_heard(audiences, wanted)), flush=True)
        sys.stdin.readline()


def _heard(audiences: list[Audience], wanted: int) -> dict[str, float]:
    """Latencies in microseconds, over all of these subscribers."""
    latencies = sorted(latency for audience in audiences for latency in audience.latencies_us)
    distinct = sum(len(audience.seen) for audience in audiences)
    return {
        "received": len(latencies),
        "twice": len(latencies) - distinct,
        "lost": wanted * len(audiences) - distinct,
        "sum_us": sum(latencies),
        "p50_us": statistics.median(latencies) if latencies else 0,
        "p99_us": latencies[len(latencies) * 99 // 100] if latencies else 0,
    }


KINDS: dict[str, Callable[..., None]] = {"publishers": publishers, "subscribers": subscribers}

if __name__ == "__main__":
    KINDS[sys.argv[1]](*sys.argv[2:])
