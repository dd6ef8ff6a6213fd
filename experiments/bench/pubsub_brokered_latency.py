"""`bench pubsub-brokered-latency`: one publisher to one subscriber through the broker at 500 samples/s, and NATS."""

from __future__ import annotations

from experiments.bench.measurement import Figure, Progress
from experiments.bench.pubsub_brokered import compare
from experiments.bench.pubsub_pair import latency
from experiments.bench.pubsub_systems import System

RATE = 500.0
MEASURED_S = 4.0


def bench(runs: int, progress: Progress) -> list[Figure]:
    """Median one-way microseconds, with a callback in the thread that reads the socket."""

    def measure(system: System) -> float:
        return latency(system, RATE, MEASURED_S)

    return compare("pubsub-brokered-latency", measure, "us", {"samples_per_s": RATE}, runs, progress)
