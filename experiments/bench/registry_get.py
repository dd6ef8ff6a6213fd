"""`bench registry-get`: who serves a topic, asked of a ring of 16 and of ZooKeeper through kazoo."""

from __future__ import annotations

import logging
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from kazoo.client import KazooClient

from broker.embedded import EmbeddedZooKeeper
from broker.local_ring import LocalRing
from broker.scratch import Scratch
from chord.client import RingClient
from chord.lookup import Walk
from experiments.bench.measurement import Figure, Progress, figure
from experiments.rings.settle import FINGERS_S, wait_for_full_lists

NODES = 16
TOPICS = 64
VALUE = b"127.0.0.1:50000" + bytes(85)
"""What a publisher leaves of itself, about as long as the real thing."""

CLIENTS = 8
"""Nodes asked in turn, each by a client of its own: from some a topic is farther than from others."""

BLOCKS = 4
ASKED_AT_ONCE = 48
"""The ways to ask take turns in blocks of so many, so that whatever else the machine does is borne by all of them."""

LEASE_S = 600.0

Times = dict[str, list[float]]


def bench(runs: int, progress: Progress) -> list[Figure]:
    """p50 of a lookup in microseconds beside that of kazoo's `get`, without a cache, and then with the owners cached.

    Cold, a client walks to the owner each time, its connections made. A lookup ends when the owner has confirmed. The
    notes tell when it was named, and of a ring's `get`, which ends when the entries are here, as kazoo's does. Each
    run has a ring and a server of its own.
    """
    logging.getLogger("kazoo").addHandler(logging.NullHandler())
    medians: Times = {}
    for run in range(runs):
        progress(f"registry-get: run {run + 1} of {runs}, on a new ring of {NODES}")
        for way, took in _run(random.Random(run)).items():
            medians.setdefault(way, []).append(statistics.median(took))
    return [_figure(medians, "cold", "no cache"), _figure(medians, "warm", "owner cached")]


def _figure(medians: Times, how: str, said: str) -> Figure:
    reference = medians["kazoo"]
    notes: dict[str, object] = {"nodes": NODES, "asked_each_run": CLIENTS * BLOCKS * ASKED_AT_ONCE}
    for what in ("named", "get"):
        took = medians[f"{how} {what}"]
        notes[f"{what}_us"] = round(statistics.median(took), 2)
        notes[f"{what}_ratio"] = round(
            statistics.median(ours / kazoo for ours, kazoo in zip(took, reference, strict=True)), 3
        )
    return figure("registry-get", medians[f"{how} lookup"], reference, f"kazoo get; ours = {said}", "us", notes)


def _run(rng: random.Random) -> Times:
    """How long each single question took, by way of asking, in microseconds."""
    topics = [f"flights/{rng.getrandbits(48):x}" for _ in range(TOPICS)]
    times: Times = {}
    with (
        Scratch() as folder,
        EmbeddedZooKeeper(Path(folder)) as server,
        LocalRing() as ring,
    ):
        ring.grow(NODES)
        wait_for_full_lists(ring)
        registry = KazooClient(server.hosts)
        registry.start()
        try:
            with RingClient(ring.addresses()) as client:
                for topic in topics:
                    client.put(topic, "publisher", VALUE, LEASE_S)
                    registry.create(f"/{topic}", VALUE, makepath=True)
            time.sleep(FINGERS_S)
            for node in rng.sample(ring.nodes, CLIENTS):
                with RingClient([node.address]) as cold, RingClient([node.address], cache=True) as warm:
                    ways: dict[str, Callable[[str], object]] = {
                        "kazoo": lambda topic: registry.get(f"/{topic}"),
                        "cold lookup": cold.lookup,
                        "cold get": cold.get,
                        "warm lookup": warm.lookup,
                        "warm get": warm.get,
                    }
                    _ask(ways, topics, times, rng)
        finally:
            registry.stop()
            registry.close()
    return times


def _ask(ways: dict[str, Callable[[str], object]], topics: list[str], times: Times, rng: random.Random) -> None:
    """Ask in turns; what is asked first of all, which connects the clients, is not counted."""
    for ask in ways.values():
        for topic in topics:
            ask(topic)
    for _ in range(BLOCKS):
        for way, ask in ways.items():
            took = times.setdefault(way, [])
            for topic in rng.choices(topics, k=ASKED_AT_ONCE):
                started = time.perf_counter()
                answer = ask(topic)
                took.append((time.perf_counter() - started) * 1e6)
                if isinstance(answer, Walk):
                    named = times.setdefault(way.replace("lookup", "named"), [])
                    named.append((answer.named_at - answer.started_at) * 1e6)
