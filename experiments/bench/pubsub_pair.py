"""One publisher and one subscriber, each a process, by any system: the same work, one call and one sample at a time.

Ours: at-least-once flow control, full headers (every column that a client writes: lengths and times), I/O threads on.
Every run checks that every sample arrived, once and in order.

    python -m experiments.bench.pubsub_pair throughput nats 1000000 100     # samples, bytes
    python -m experiments.bench.pubsub_pair latency brokered 500 4          # per second, seconds
"""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from typing import Any

from broker.processes import ProcessFailed, read_line, write_line
from experiments.bench.pubsub_report import RUN_S
from experiments.bench.pubsub_systems import SYSTEMS, Pair, System, Work

SIZE = 100


def throughput(system: System, count: int, size: int = SIZE) -> float:
    """Samples per second flat out, as the application gets them. Raises ProcessFailed if any is missing."""
    with ExitStack() as stack:
        return float(count / _result(system(stack, Work(count, size)), count)["seconds"])


def latency(system: System, rate: float, seconds: float, size: int = SIZE) -> float:
    """Median microseconds from publishing to a callback in the thread that reads the socket, at so many a second."""
    count = int(rate * seconds)
    with ExitStack() as stack:
        return float(_result(system(stack, Work(count, size, rate)), count)["p50_us"])


def _result(pair: Pair, count: int) -> dict[str, Any]:
    write_line(pair.publisher, "go")
    result: dict[str, Any] = json.loads(read_line(pair.subscriber, RUN_S))
    if result["received"] != count or not result["in_order"]:
        raise ProcessFailed(f"sent {count} samples, got {result}")
    return result


if __name__ == "__main__":
    _, measure, name, first, second = sys.argv
    if measure == "throughput":
        print(throughput(SYSTEMS[name], int(first), int(second)))
    else:
        print(latency(SYSTEMS[name], float(first), float(second)))
