"""`bench static-sweep`: lookups in static rings by Spark on two cores beside one, and their hops beside half log2 N."""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.bench.measurement import Figure, Progress, figure
from experiments.bench.spark_gold import Job
from sim.paper.counts import standard_error
from sim.paper.published import half_log2
from sim.static.report import fastest

NODES = int(os.environ.get("RINGCAST_BENCH_STATIC_NODES", "1048576"))
LOOKUPS = int(os.environ.get("RINGCAST_BENCH_STATIC_LOOKUPS", "16777216"))
RINGS = 8
WARM_NODES = 1 << 10
CORES = (1, 2)


def bench(runs: int, progress: Progress) -> list[Figure]:
    """Lookups a second, the making of the rings included; the same ones by both, in turns.

    Each has a Java of its own, which has started and has run some blocks before anything counts. Every run has rings of
    its own, and what both find in them is compared.
    """
    progress(f"static-sweep: two Java processes start; {LOOKUPS} lookups in {RINGS} rings of {NODES} nodes a run")
    found: dict[int, list[dict[str, Any]]] = {cores: [] for cores in CORES}
    with Job(CORES[0]) as one, Job(CORES[1]) as two:
        jobs = dict(zip(CORES, (one, two), strict=True))
        for job in jobs.values():
            _ask(job, WARM_NODES, 1000 * RINGS, 0)
        for run in range(1, runs + 1):
            for cores, job in jobs.items():
                progress(f"static-sweep: run {run} of {runs} by {cores} of {CORES[1]}")
                found[cores].append(_ask(job, NODES, LOOKUPS, run))
            assert found[1][-1]["hops"] == found[2][-1]["hops"], "the same seed gives the same hops by both"
    means = [mean for told in found[2] for mean in told["means"]]
    rates = {cores: [LOOKUPS / told["seconds"] for told in found[cores]] for cores in CORES}
    return [figure("static-sweep", rates[2], rates[1], "one core", "1/s", _notes(means, found))]


def _ask(job: Job, nodes: int, lookups: int, seed: int) -> dict[str, Any]:
    return job.ask("static", Path(), nodes=nodes, lookups=lookups, rings=RINGS, seed=seed)


def _notes(means: Sequence[float], found: dict[int, list[dict[str, Any]]]) -> dict[str, Any]:
    expected = half_log2(NODES)
    mean = statistics.fmean(means)
    return {
        "nodes": NODES,
        "lookups": LOOKUPS,
        "engine": fastest().value,
        "rings": len(means),
        "mean_hops": round(mean, 4),
        "mean_hops_error": round(standard_error(means), 4),
        "half_log2_less_0_138": expected,
        "off_by": None if expected is None else round(mean - expected, 4),
        "walking_lookups_per_s_per_core": {
            cores: round(statistics.median(told["lookups_per_s"] for told in found[cores])) for cores in CORES
        },
        "seconds": {cores: round(statistics.median(told["seconds"] for told in found[cores]), 2) for cores in CORES},
        "peak_mb_by_two": max(told["peak_mb"] for told in found[2]),
        "not_counted": "the start of Java and of Python's workers",
    }
