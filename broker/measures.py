"""What a client measures for a plot: rows of numbers in a file that lives as long as the command.

They are written as they come, so that a client that is killed leaves them too, and read when all is over: nothing is
reckoned while there is something to measure.
"""

from __future__ import annotations

import os
import time
from array import array
from typing import IO

from pubsub.sample import Sample

LATENCY_ROW = ("received_us", "latency_us", "topic")
RATE_ROW = ("at_us", "published")
EVERY_NS = 50_000_000
"""A publisher counts its samples at most this often."""


class Latencies:
    """Rows (received_us, latency_us, which of the topics)."""

    def __init__(self, file: IO[bytes], topics: list[str]) -> None:
        self._file = file
        self._topics = {topic: number for number, topic in enumerate(topics)}

    def keep(self, samples: list[Sample]) -> None:
        """Write a row a sample."""
        rows = array("q")
        for sample in samples:
            received_us = sample.received_us
            rows.extend((received_us, received_us - sample.published_us, self._topics[sample.topic]))
        os.write(self._file.fileno(), rows)


class Rates:
    """Rows (at_us, samples published until then)."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._due_ns = 0

    def count(self, published: int, last: bool = False) -> None:
        """Write a row if it is time for one, or it is the last."""
        now_ns = time.monotonic_ns()
        if last or now_ns >= self._due_ns:
            self._due_ns = now_ns + EVERY_NS
            os.write(self._file.fileno(), array("q", (time.time_ns() // 1000, published)))
