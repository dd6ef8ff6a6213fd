"""`bench pubsub-direct`: one publisher to one subscriber, 100 B a sample, against Zenoh peer to peer."""

from __future__ import annotations

from experiments.bench.measurement import Figure, Progress, figure
from experiments.bench.pubsub_pair import SIZE, latency, throughput
from experiments.bench.pubsub_systems import ours_direct, zenoh_peer

SAMPLES = 1_000_000
RATE = 500.0
LATENCY_S = 4.0
ZENOH = "Zenoh peer to peer (eclipse-zenoh), reliable, Block"


def bench(runs: int, progress: Progress) -> list[Figure]:
    """Median one-way microseconds at 500 samples per second; then samples per second flat out, all of them received."""
    ours: list[float] = []
    zenoh: list[float] = []
    ours_us: list[float] = []
    zenoh_us: list[float] = []
    for run in range(runs):
        progress(f"pubsub-direct: run {run + 1} of {runs}")
        ours.append(throughput(ours_direct, SAMPLES))
        zenoh.append(throughput(zenoh_peer, SAMPLES))
        ours_us.append(latency(ours_direct, RATE, LATENCY_S))
        zenoh_us.append(latency(zenoh_peer, RATE, LATENCY_S))
    notes = {"samples": SAMPLES, "bytes": SIZE}
    at_rate = {"samples_per_s": RATE, "bytes": SIZE, "what": "median latency"}
    return [
        figure("pubsub-direct", ours_us, zenoh_us, ZENOH, "us", at_rate),
        figure("pubsub-direct", ours, zenoh, ZENOH, "samples/s", notes),
    ]
