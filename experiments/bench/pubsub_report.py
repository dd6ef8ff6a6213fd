"""What the roles of the publish/subscribe benchmarks share: the pace, numbered payloads, and how each one reports."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import cycle

TOPIC = "bench/topic"
RUN_S = 120
START_S = 30
NUMBERS = 4_096

Take = Callable[[bytes], None]


def report(received: int, in_order: bool, seconds: float, latencies_us: list[float]) -> None:
    """Print a line of JSON: how many samples came, whether each once and in order, how long it took, and the median."""
    p50 = statistics.median(latencies_us) if latencies_us else None
    said = {"received": received, "in_order": in_order, "seconds": seconds, "p50_us": p50}
    print(json.dumps(said), flush=True)


def numbered(size: int) -> Iterator[bytes]:
    """Payloads that tell their order: 8 bytes for a time, then a number up to 4,095, again and again.

    They are made beforehand, so that telling costs the peer nothing: ours has sequence numbers anyway.
    """
    return cycle([bytes(8) + number.to_bytes(4, "little") + b"x" * (size - 12) for number in range(NUMBERS)])


def stamped(payload: bytes) -> bytes:
    """A numbered payload with the time of now in its first 8 bytes."""
    return time.time_ns().to_bytes(8, "little") + payload[8:]


def paced(count: int, rate: float) -> Iterable[int]:
    """Counts up to `count`, at `rate` per second, or as fast as can be when that is 0."""
    return _waiting(count, rate) if rate else range(count)


def _waiting(count: int, rate: float) -> Iterator[int]:
    started_at = time.perf_counter()
    for number in range(count):
        wait_s = started_at + number / rate - time.perf_counter()
        if wait_s > 0:
            time.sleep(wait_s)
        yield number


def counting(wanted: int, size: int, timed: bool, done: Callable[[], None]) -> tuple[Take, Callable[[], None]]:
    """What to call with each numbered payload that arrives, and what prints the line at the end.

    `timed`: they are stamped, so latencies are told. `done` is called once the last one that is wanted is there.
    """
    received = 0
    in_order = True
    started_at = seconds = 0.0
    latencies: list[float] = []
    expected = numbered(size)

    def take(payload: bytes) -> None:
        nonlocal received, in_order, started_at, seconds
        if timed:
            latencies.append((time.time_ns() - int.from_bytes(payload[:8], "little")) / 1000)
        if not received:
            started_at = time.perf_counter()
        received += 1
        if payload[8:] != next(expected)[8:] if timed else payload != next(expected):
            in_order = False
        if received == wanted:
            seconds = time.perf_counter() - started_at
            done()

    return take, lambda: report(received, in_order, seconds, latencies)
