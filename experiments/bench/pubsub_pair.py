"""Direct dissemination beside Zenoh peer to peer: the same work in real processes, one call and one sample at a time.

Ours: a ring of one node, a publisher and a subscriber process; at-least-once flow control, full headers (every column
that a client writes: lengths and times), I/O threads on. Zenoh: two peers on loopback, scouting off, reliable, Block on
congestion, one `put` and one callback a sample. Every run checks that every sample arrived, once and in order.

    python -m experiments.bench.pubsub_pair throughput ours 1000000 100     # samples, bytes
    python -m experiments.bench.pubsub_pair latency zenoh 500 4             # per second, seconds
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from broker.processes import ProcessFailed, end, read_line, start, write_line
from experiments.bench.pubsub_roles import RUN_S

Process = subprocess.Popen[bytes]


def run_ours(count: int, size: int) -> float:
    """Samples per second from one publisher to one subscriber, delivered to its application."""
    with ExitStack() as stack:
        via = _ring(stack)
        subscriber = _role(stack, "ours-subscriber", via, str(count))
        publisher = _role(stack, "ours-publisher", via, str(count), str(size))
        return _rate(publisher, subscriber, count)


def run_zenoh(count: int, size: int) -> float:
    """The same through Zenoh."""
    with ExitStack() as stack:
        publisher = _role(stack, "zenoh-publisher", str(count), str(size))
        subscriber = _role(stack, "zenoh-subscriber", read_line(publisher), str(count), str(size))
        return _rate(publisher, subscriber, count)


def latency_ours(rate: float, seconds: float, size: int = 100) -> float:
    """Median microseconds from `publish` to a callback in the thread that reads the socket, at so many a second."""
    with ExitStack() as stack:
        via = _ring(stack)
        count = int(rate * seconds)
        subscriber = _role(stack, "ours-callback", via, str(count))
        publisher = _role(stack, "ours-publisher", via, str(count), str(size), str(rate))
        return _latency(publisher, subscriber, count)


def latency_zenoh(rate: float, seconds: float, size: int = 100) -> float:
    """The same through Zenoh, from `put` to its callback."""
    with ExitStack() as stack:
        count = int(rate * seconds)
        publisher = _role(stack, "zenoh-publisher", str(count), str(size), str(rate))
        subscriber = _role(stack, "zenoh-subscriber", read_line(publisher), str(count), str(size), "timed")
        return _latency(publisher, subscriber, count)


def _ring(stack: ExitStack) -> str:
    """The address of a ring of one node."""
    return read_line(_start(stack, "chord.cli", "join")).split()[1]


def _role(stack: ExitStack, role: str, *arguments: str) -> Process:
    return _start(stack, "experiments.bench.pubsub_roles", role, *arguments)


def _start(stack: ExitStack, *command: str) -> Process:
    process = start(list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    stack.callback(end, process)
    return process


def _result(publisher: Process, subscriber: Process, count: int) -> dict[str, Any]:
    said = read_line(subscriber)
    if said != "ready":
        raise ProcessFailed(f"the subscriber said {said!r}, expected 'ready'")
    write_line(publisher, "go")
    result: dict[str, Any] = json.loads(read_line(subscriber, RUN_S))
    if result["received"] != count or not result["in_order"]:
        raise ProcessFailed(f"sent {count} samples, got {result}")
    return result


def _rate(publisher: Process, subscriber: Process, count: int) -> float:
    return float(count / _result(publisher, subscriber, count)["seconds"])


def _latency(publisher: Process, subscriber: Process, count: int) -> float:
    return float(_result(publisher, subscriber, count)["p50_us"])


MEASURES: dict[tuple[str, str], Callable[[int, int], float]] = {
    ("throughput", "ours"): run_ours,
    ("throughput", "zenoh"): run_zenoh,
    ("latency", "ours"): latency_ours,
    ("latency", "zenoh"): latency_zenoh,
}

if __name__ == "__main__":
    print(MEASURES[sys.argv[1], sys.argv[2]](int(sys.argv[3]), int(sys.argv[4])))
