"""`bench clients`: mean latency with 64 and 256 brokered clients, half of them publishers and half subscribers.

The prototype to beat had 30.3 s at 256 hosts, through one broker: each of its publishers published on three topics in
turn, and each of its subscribers took all three. Of 256 clients a broker of ours does not serve that many pairs of
publisher, topic and subscriber (pubsub/limits.py: MAX_READERS), so there each client has one of the three.
"""

from __future__ import annotations

import json
import subprocess
from contextlib import ExitStack
from typing import Any

from broker.processes import ProcessFailed, end, read_line, start, write_line
from experiments.bench.measurement import Figure, Progress, figure
from experiments.bench.pubsub_crowd import SIZE, TOPICS
from experiments.bench.pubsub_zone import BenchZone

CROWDS = ((64, 3), (256, 1))
"""How many clients, and how many of the three topics each of them has."""

PROTOTYPE_MS = {64: 1_560.0, 256: 30_300.0}
REFERENCE = "mean of the prototype's records with as many hosts"
REPLICAS = 1
RATE = 1.0
MEASURED_S = 10.0
PROCESSES = 4
"""Of each kind, however many clients there are: more would be in each other's way on two cores."""

READY_S = 240.0
ANSWER_S = 180.0

Process = subprocess.Popen[bytes]


def bench(runs: int, progress: Progress) -> list[Figure]:
    """Milliseconds from publishing to the callback, over all subscribers; of 256 clients last."""
    figures: list[Figure] = []
    for clients, topics_each in CROWDS:
        means: list[float] = []
        told: dict[str, Any] = {}
        for run in range(runs):
            progress(f"clients: {clients} clients, run {run + 1} of {runs}")
            mean_ms, told = measure(clients, topics_each, RATE, MEASURED_S)
            means.append(mean_ms)
        figures.append(figure("clients", means, [PROTOTYPE_MS[clients]] * runs, REFERENCE, "ms", told))
    return figures


def measure(clients: int, topics_each: int, rate: float, seconds: float) -> tuple[float, dict[str, Any]]:
    """The mean latency in milliseconds, and the notes. Raises ProcessFailed when a sample is lost or there twice."""
    each = clients // 2 // PROCESSES
    with ExitStack() as stack:
        via = BenchZone(stack, REPLICAS).via
        audiences = _crowd(stack, "subscribers", via, str(each), str(topics_each))
        speakers = _crowd(stack, "publishers", via, str(each), str(topics_each), f"{rate}", f"{seconds}")
        for speaker in speakers:
            write_line(speaker, "go")
        spoken = [json.loads(read_line(speaker, ANSWER_S)) for speaker in speakers]
        published = {topic: sum(said["published"][topic] for said in spoken) for topic in TOPICS}
        for audience in audiences:
            write_line(audience, json.dumps(published))
        heard = [json.loads(read_line(audience, ANSWER_S)) for audience in audiences]
    lost, twice = (sum(said[what] for said in heard) for what in ("lost", "twice"))
    if lost or twice:
        raise ProcessFailed(f"of {published} samples, {lost} were not received by somebody and {twice} twice")
    received = sum(said["received"] for said in heard)
    notes = {
        "clients": clients,
        "processes": 2 * PROCESSES,
        "samples_per_s_each": rate,
        "topics": len(TOPICS),
        "topics_each": topics_each,
        "bytes": SIZE,
        "replicas": REPLICAS,
        "deliveries_per_s": round(received / seconds),
        "p50_ms": round(max(said["p50_us"] for said in heard) / 1e3, 2),
        "p99_ms": round(max(said["p99_us"] for said in heard) / 1e3, 2),
        "late_ms": round(max(said["late_s"] for said in spoken) * 1e3, 1),
    }
    return sum(said["sum_us"] for said in heard) / received / 1e3, notes


def _crowd(stack: ExitStack, kind: str, *arguments: str) -> list[Process]:
    """Processes of one kind, once each of them is ready."""
    started: list[Process] = []
    for _ in range(PROCESSES):
        process = start(
            ["experiments.bench.pubsub_crowd", kind, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        stack.callback(end, process)
        started.append(process)
    for process in started:
        read_line(process, READY_S)
    return started
