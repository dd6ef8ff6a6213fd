"""A brokered publisher and its subscriber in one process, which tells how a failover was seen: for `bench failover`.

It reads commands on stdin, and answers each with a line of JSON; times are microseconds since the epoch.

    after TIME    when the first sample that was published later arrived
    pause TIME    the longest that nothing arrived since then, up to now, in microseconds
    end           publishes no more, and tells how many samples were published, lost, and there twice

    python -m experiments.bench.pubsub_traffic VIA RATE
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise

from broker.zookeeper import SESSION_S
from experiments.bench.pubsub_report import TOPIC
from pubsub.client import Publisher, Sample, Subscriber

SIZE = 100
WAIT_S = 60.0
POLL_S = 0.002
BLOCK_S = WAIT_S + SESSION_S


class Arrivals:
    """When each sample arrived, in the thread that reads the socket."""

    def __init__(self) -> None:
        self.arrived: list[tuple[int, int, int]] = []

    def add(self, sample: Sample) -> None:
        """Note a sample: its sequence, when it was published, and now."""
        self.arrived.append((sample.sequence, sample.published_us, time.time_ns() // 1000))

    def after(self, at_us: int) -> int | None:
        """When the first of those published after a time arrived, if one has."""
        return min((seen for _, published, seen in self.arrived if published > at_us), default=None)

    def pause_us(self, since_us: int, now_us: int) -> int:
        """The longest time without an arrival from `since_us` to `now_us`."""
        seen = [since_us, *(seen for _, _, seen in self.arrived if seen > since_us), now_us]
        return max(later - earlier for earlier, later in pairwise(seen))

    def counts(self, published: int) -> dict[str, int]:
        """How many of so many samples are missing, and how many came again."""
        sequences = [sequence for sequence, _, _ in self.arrived]
        distinct = len(set(sequences))
        return {"published": published, "lost": published - distinct, "twice": len(sequences) - distinct}


def main(via: str, rate: str) -> None:
    """Publish until told to end."""
    arrivals = Arrivals()
    over = threading.Event()
    published: list[int] = []
    with (
        Subscriber([TOPIC], via=[via], brokered=True, on_sample=arrivals.add),
        Publisher(via=[via], brokered=True, block_s=BLOCK_S) as publisher,
    ):
        publisher.advertise(TOPIC)
        publisher.wait_for_readers(TOPIC, 1, WAIT_S)

        def publish() -> None:
            while not over.wait(1 / float(rate)):
                published.append(publisher.publish(TOPIC, bytes(SIZE)))

        publishing = threading.Thread(target=publish)
        publishing.start()
        _say(_wait(lambda: arrivals.after(0)))
        for line in sys.stdin:
            command, _, at_us = line.partition(" ")
            if command.strip() == "end":
                break
            if command == "after":
                _say(_wait(partial(arrivals.after, int(at_us))))
            else:
                _say(arrivals.pause_us(int(at_us), time.time_ns() // 1000))
        over.set()
        publishing.join()
        publisher.flush(WAIT_S)
        _wait(lambda: None if arrivals.counts(len(published))["lost"] else 0)
        _say(arrivals.counts(len(published)))


def _wait(look: Callable[[], int | None]) -> int | None:
    """What there is to see once it is there; None when it is not within WAIT_S."""
    deadline = time.monotonic() + WAIT_S
    while (seen := look()) is None and time.monotonic() < deadline:
        time.sleep(POLL_S)
    return seen


def _say(what: object) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
