"""The processes of `bench pubsub-direct`, which experiments/bench/pubsub_pair.py starts.

A publisher waits for a line on stdin before it begins, and ends with the process that started it. A subscriber says
`ready`, and then what it got.

    python -m experiments.bench.pubsub_roles ROLE ARGUMENTS...
"""

from __future__ import annotations

import json
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import cycle, islice
from typing import Any

TOPIC = "bench/topic"
RUN_S = 120
START_S = 30


def _report(received: int, in_order: bool, seconds: float, latencies_us: list[float]) -> None:
    p50 = statistics.median(latencies_us) if latencies_us else None
    report = {"received": received, "in_order": in_order, "seconds": seconds, "p50_us": p50}
    print(json.dumps(report), flush=True)


def _ours_publisher(via: str, count: str, size: str, rate: str = "0") -> None:
    from pubsub.client import Publisher

    payload = b"x" * int(size)
    with Publisher(via=[via]) as publisher:
        publisher.advertise(TOPIC)
        publisher.wait_for_readers(TOPIC, 1, START_S)
        sys.stdin.readline()
        publish = publisher.publish
        for _ in _paced(int(count), float(rate)):
            publish(TOPIC, payload)
        publisher.flush(RUN_S)
        sys.stdin.readline()


def _ours_subscriber(via: str, count: str) -> None:
    """Iterates, as an application does."""
    from pubsub.client import Subscriber

    wanted = int(count)
    with Subscriber([TOPIC], via=[via]) as subscriber:
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
            if received == wanted:
                break
        _report(received, in_order, time.perf_counter() - started_at, [])


def _ours_callback(via: str, count: str) -> None:
    """Is called back in the thread that reads the socket, as Zenoh's subscriber is."""
    from pubsub.client import Sample, Subscriber

    wanted = int(count)
    sequences: list[int] = []
    latencies: list[float] = []
    done = threading.Event()

    def on_sample(sample: Sample) -> None:
        latencies.append(time.time_ns() / 1000 - sample.published_us)
        sequences.append(sample.sequence)
        if sample.sequence == wanted:
            done.set()

    with Subscriber([TOPIC], via=[via], on_sample=on_sample):
        print("ready", flush=True)
        done.wait(RUN_S)
        _report(len(sequences), sequences == list(range(1, wanted + 1)), 0.0, latencies)


def _zenoh_config(listen: list[str], connect: list[str]) -> Any:
    import zenoh

    config = zenoh.Config()
    config.insert_json5("mode", '"peer"')
    config.insert_json5("scouting/multicast/enabled", "false")
    config.insert_json5("listen/endpoints", json.dumps(listen))
    config.insert_json5("connect/endpoints", json.dumps(connect))
    return config


def _zenoh_publisher(count: str, size: str, rate: str = "0") -> None:
    import socket

    import zenoh

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        endpoint = f"tcp/127.0.0.1:{probe.getsockname()[1]}"
    with zenoh.open(_zenoh_config([endpoint], [])) as session:
        publisher = session.declare_publisher(
            TOPIC, congestion_control=zenoh.CongestionControl.BLOCK, reliability=zenoh.Reliability.RELIABLE
        )
        print(endpoint, flush=True)
        sys.stdin.readline()
        deadline = time.monotonic() + START_S
        while not _matching(publisher) and time.monotonic() < deadline:
            time.sleep(0.01)
        put = publisher.put
        payloads = _numbered(int(size))
        if float(rate):
            for _ in _paced(int(count), float(rate)):
                put(time.time_ns().to_bytes(8, "little") + next(payloads)[8:])
        else:
            for payload in islice(payloads, int(count)):
                put(payload)
        sys.stdin.readline()


def _matching(publisher: Any) -> bool:
    """Whether a subscriber is connected; the stubs of some releases type this wrongly."""
    return bool(publisher.matching_status.matching)


def _zenoh_subscriber(endpoint: str, count: str, size: str, timed: str = "") -> None:
    import zenoh

    wanted = int(count)
    received = 0
    in_order = True
    started_at = seconds = 0.0
    latencies: list[float] = []
    expected = _numbered(int(size))
    done = threading.Event()

    def on_sample(sample: Any) -> None:
        nonlocal received, in_order, started_at, seconds
        payload = sample.payload.to_bytes()
        if timed:
            latencies.append((time.time_ns() - int.from_bytes(payload[:8], "little")) / 1000)
        if not received:
            started_at = time.perf_counter()
        received += 1
        if payload[8:] != next(expected)[8:] if timed else payload != next(expected):
            in_order = False
        if received == wanted:
            seconds = time.perf_counter() - started_at
            done.set()

    with zenoh.open(_zenoh_config([], [endpoint])) as session:
        subscriber: Any = session.declare_subscriber(TOPIC, on_sample)
        print("ready", flush=True)
        done.wait(RUN_S)
        _report(received, in_order, seconds, latencies)
        subscriber.undeclare()


def _numbered(size: int) -> Iterator[bytes]:
    """Payloads that tell their order: 8 bytes for a time, then a number up to 4,095, again and again.

    They are made beforehand, so that telling costs Zenoh nothing: ours has sequence numbers anyway.
    """
    return cycle([bytes(8) + number.to_bytes(4, "little") + b"x" * (size - 12) for number in range(4_096)])


def _paced(count: int, rate: float) -> Iterable[int]:
    """Counts up to `count`, at `rate` per second, or as fast as can be when that is 0."""
    return _waiting(count, rate) if rate else range(count)


def _waiting(count: int, rate: float) -> Iterator[int]:
    started_at = time.perf_counter()
    for number in range(count):
        wait_s = started_at + number / rate - time.perf_counter()
        if wait_s > 0:
            time.sleep(wait_s)
        yield number


ROLES: dict[str, Callable[..., None]] = {
    "ours-publisher": _ours_publisher,
    "ours-subscriber": _ours_subscriber,
    "ours-callback": _ours_callback,
    "zenoh-publisher": _zenoh_publisher,
    "zenoh-subscriber": _zenoh_subscriber,
}

if __name__ == "__main__":
    ROLES[sys.argv[1]](*sys.argv[2:])
