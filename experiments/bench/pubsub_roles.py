"""Direct dissemination beside Zenoh peer to peer: the same work in real processes, one call and one sample at a time.

Ours: a ring of one node, a publisher and a subscriber process; at-least-once flow control, full headers (every column
that a client writes: lengths and times), I/O threads on. Zenoh: two peers on loopback, scouting off, reliable, Block on
congestion, one `put` and one callback a sample. Every run checks that as many samples arrived as were sent, in order.

Latencies are from `publish` or `put` to a callback in the thread that reads the socket.

    python -m experiments.bench.pubsub_roles throughput ours 1000000 100     # samples, bytes
    python -m experiments.bench.pubsub_roles latency zenoh 500 4             # per second, seconds
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import Any

TOPIC = "bench/topic"
RUN_S = 120
START_S = 30


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
        subscriber = _role(stack, "zenoh-subscriber", _line(publisher), str(count))
        return _rate(publisher, subscriber, count)


def latency_ours(rate: float, seconds: float, size: int = 100) -> float:
    """Median microseconds from `publish` to the application, at `rate` samples per second."""
    with ExitStack() as stack:
        via = _ring(stack)
        count = int(rate * seconds)
        subscriber = _role(stack, "ours-callback", via, str(count))
        publisher = _role(stack, "ours-publisher", via, str(count), str(size), str(rate))
        return _latency(publisher, subscriber, count)


def latency_zenoh(rate: float, seconds: float, size: int = 100) -> float:
    """The same through Zenoh, whose samples carry their time in the payload."""
    with ExitStack() as stack:
        count = int(rate * seconds)
        publisher = _role(stack, "zenoh-publisher", str(count), str(size), str(rate))
        subscriber = _role(stack, "zenoh-subscriber", _line(publisher), str(count))
        return _latency(publisher, subscriber, count)


# Processes ---------------------------------------------------------------------------------------------------------


def _start(stack: ExitStack, *command: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )

    def stop() -> None:
        process.terminate()
        process.communicate()

    stack.callback(stop)
    watchdog = threading.Timer(RUN_S, process.kill)
    watchdog.start()
    stack.callback(watchdog.cancel)
    return process


def _ring(stack: ExitStack) -> str:
    """The address of a ring of one node."""
    return _line(_start(stack, "chord.cli", "join")).split()[1]


def _role(stack: ExitStack, role: str, *arguments: str) -> subprocess.Popen[str]:
    return _start(stack, "experiments.bench.pubsub_roles", role, *arguments)


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"{process.args!r} ended early")
    return line.strip()


def _go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def _result(publisher: subprocess.Popen[str], subscriber: subprocess.Popen[str], count: int) -> dict[str, Any]:
    assert _line(subscriber) == "ready"
    _go(publisher)
    result: dict[str, Any] = json.loads(_line(subscriber))
    if result["received"] != count or not result["in_order"]:
        raise RuntimeError(f"sent {count} samples, got {result}")
    _go(publisher)
    return result


def _rate(publisher: subprocess.Popen[str], subscriber: subprocess.Popen[str], count: int) -> float:
    return float(count / _result(publisher, subscriber, count)["seconds"])


def _latency(publisher: subprocess.Popen[str], subscriber: subprocess.Popen[str], count: int) -> float:
    return float(_result(publisher, subscriber, count)["p50_us"])


# Roles -------------------------------------------------------------------------------------------------------------


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
        if float(rate):
            for _ in _paced(int(count), float(rate)):
                put(time.time_ns().to_bytes(8, "little").ljust(int(size), b"x"))
        else:
            payload = b"x" * int(size)
            for _ in range(int(count)):
                put(payload)
        sys.stdin.readline()


def _matching(publisher: Any) -> bool:
    """Whether a subscriber is connected; the stubs of some releases type this wrongly."""
    return bool(publisher.matching_status.matching)


def _zenoh_subscriber(endpoint: str, count: str) -> None:
    import zenoh

    wanted = int(count)
    received = 0
    started_at = seconds = 0.0
    slow = wanted <= 100_000
    latencies: list[float] = []
    done = threading.Event()

    def on_sample(sample: Any) -> None:
        nonlocal received, started_at, seconds
        payload = sample.payload.to_bytes()
        if slow:
            latencies.append((time.time_ns() - int.from_bytes(payload[:8], "little")) / 1000)
        if not received:
            started_at = time.perf_counter()
        received += 1
        if received == wanted:
            seconds = time.perf_counter() - started_at
            done.set()

    with zenoh.open(_zenoh_config([], [endpoint])) as session:
        subscriber: Any = session.declare_subscriber(TOPIC, on_sample)
        print("ready", flush=True)
        done.wait(RUN_S)
        _report(received, True, seconds, latencies)
        subscriber.undeclare()


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

MEASURES: dict[tuple[str, str], Callable[[int, int], float]] = {
    ("throughput", "ours"): run_ours,
    ("throughput", "zenoh"): run_zenoh,
    ("latency", "ours"): latency_ours,
    ("latency", "zenoh"): latency_zenoh,
}

if __name__ == "__main__":
    if sys.argv[1] in ROLES:
        ROLES[sys.argv[1]](*sys.argv[2:])
    else:
        print(MEASURES[sys.argv[1], sys.argv[2]](int(sys.argv[3]), int(sys.argv[4])))
