"""`bench pubsub-brokered`: one publisher to one subscriber through the broker, 100 B a sample, against NATS core.

NATS core keeps nothing, so the figure is that of a zone of one replica; beside it one of three, all in sync, and Zenoh
through its router.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from experiments.bench.measurement import Figure, Progress, figure
from experiments.bench.nats_server import version
from experiments.bench.pubsub_pair import SIZE, throughput
from experiments.bench.pubsub_systems import System, nats, ours_brokered, zenoh_router

SAMPLES = 500_000
ZENOH = "Zenoh through a router (eclipse-zenoh), reliable, Block"


def bench(runs: int, progress: Progress) -> list[Figure]:
    """Samples per second flat out, all of them received."""

    def measure(system: System) -> float:
        return throughput(system, SAMPLES)

    return compare("pubsub-brokered", measure, "samples/s", {"samples": SAMPLES}, runs, progress)


def compare(
    name: str,
    measure: Callable[[System], float],
    unit: str,
    notes: dict[str, Any],
    runs: int,
    progress: Progress,
) -> list[Figure]:
    """Our brokers against Zenoh; then three replicas, and in the last figure one, against NATS."""
    one: list[float] = []
    three: list[float] = []
    peers: list[float] = []
    zenoh: list[float] = []
    for run in range(runs):
        progress(f"{name}: run {run + 1} of {runs}")
        one.append(measure(ours_brokered(1)))
        peers.append(measure(nats))
        three.append(measure(ours_brokered(3)))
        zenoh.append(measure(zenoh_router))
    reference = f"NATS core ({version()}), nats-py"
    notes = {**notes, "bytes": SIZE}
    return [
        figure(name, one, zenoh, ZENOH, unit, {**notes, "replicas": 1}),
        figure(name, three, peers, reference, unit, {**notes, "replicas": 3}),
        figure(name, one, peers, reference, unit, {**notes, "replicas": 1}),
    ]
