"""`bench sim-lookups`: lookups a second in simulated rings, by production code and codec, beside a bare heap."""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

from chord.effects import Operation
from chord.host import Host
from chord.lookup import Walk, find_owner
from chord.recursion import find_owner_recursively
from chord.settings import Settings
from experiments.bench.measurement import Figure, Progress, figure
from experiments.bench.sim_events import STEP_S, WALL_S, Frozen, bare_heap
from sim.cluster import Cluster
from sim.ideal import start_ideal

SIZES = {1_024: 20_000, 16_384: 8_000}
"""Nodes, and how many lookups a second there ought to be."""

LARGEST = 100_000
ASKING = 64
"""Members that look up, one key after the other."""

SETTLE_S = 1.0
RECURSIVE, ITERATIVE = "recursive", "iterative"


def bench(runs: int, progress: Progress) -> list[Figure]:
    """Lookups a second of random keys, asked by members of an ideal ring; and what 100,000 nodes take.

    A lookup ends when its owner has confirmed. Each frame of it is encoded, takes a random time, and is decoded.
    Iteratively the member that asks calls each hop; recursively the hops pass the lookup on, and the owner answers. No
    upkeep goes on meanwhile. Lists have 2 log2 N successors.
    """
    figures = [_lookups(nodes, mode, runs, progress) for nodes in SIZES for mode in (RECURSIVE, ITERATIVE)]
    progress(f"sim-lookups: {LARGEST} nodes in a process of their own")
    largest = _in_child(LARGEST)
    figures[-1].notes.update({f"{key}_of_{LARGEST}_nodes": value for key, value in largest.items()})
    return figures


def _lookups(nodes: int, mode: str, runs: int, progress: Progress) -> Figure:
    progress(f"sim-lookups: making an ideal ring of {nodes}")
    asked = Asked(nodes, mode)
    ours, heap = [], []
    with Frozen():
        happened, answered = asked.cluster.scheduler.happened, asked.answered
        for run in range(runs):
            progress(f"sim-lookups: run {run + 1} of {runs}, {mode} among {nodes}")
            heap.append(bare_heap(nodes))
            ours.append(asked.per_s(WALL_S))
    events = (asked.cluster.scheduler.happened - happened) / (asked.answered - answered)
    notes = {
        "nodes": nodes,
        "mode": mode,
        "mean_hops": round(asked.hops / asked.answered, 3),
        "events_per_lookup": round(events, 2),
        "events_per_s": round(statistics.median(ours) * events),
        "wanted_per_s": SIZES[nodes],
    }
    return figure("sim-lookups", ours, heap, "events of a bare heap; ours = lookups", "1/s", notes)


class Asked:
    """An ideal ring, some of whose members look random keys up for ever."""

    def __init__(self, nodes: int, mode: str) -> None:
        settings = Settings(successors=2 * (nodes - 1).bit_length())
        self.cluster = Cluster(seed=1, settings=settings, keep=lambda _row: None)
        self.answered = self.hops = 0
        started = start_ideal(self.cluster, nodes, upkeep=False)
        for number in range(ASKING):
            node = started[number * nodes // ASKING]
            node.process.start(self._ask(node.host, self.cluster.rng(f"asks/{number}"), mode))
        self.cluster.scheduler.run_for(SETTLE_S)

    def per_s(self, wall_s: float) -> float:
        """Lookups a second, measured for at least so long."""
        answered, began = self.answered, time.perf_counter()
        while (took_s := time.perf_counter() - began) < wall_s:
            self.cluster.scheduler.run_for(STEP_S)
        return (self.answered - answered) / took_s

    def _ask(self, host: Host, rng: random.Random, mode: str) -> Operation[None]:
        kernel, me = host.kernel, host.members[0].me
        space = host.settings.space
        while True:
            walk = Walk(rng.getrandbits(space.bits))
            if mode == RECURSIVE:
                yield from find_owner_recursively(kernel, [me], kernel.address, walk)
            else:
                yield from find_owner(kernel, space, [me], walk)
            self.answered += 1
            self.hops += walk.hops


def _in_child(nodes: int) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", __name__, str(nodes)], capture_output=True, text=True, check=True, timeout=900
    )
    told: dict[str, float] = json.loads(done.stdout)
    return told


def _large(nodes: int) -> dict[str, float]:
    """What a ring of so many takes, and how fast lookups in it are."""
    began = time.perf_counter()
    asked = Asked(nodes, RECURSIVE)
    made_s = time.perf_counter() - began
    with Frozen():
        per_s = asked.per_s(5 * WALL_S)
    peak_kb = Path("/proc/self/status").read_text(encoding="ascii").partition("VmHWM:")[2].split()[0]
    return {
        "made_s": round(made_s, 1),
        "lookups": asked.answered,
        "lookups_per_s": round(per_s),
        "mean_hops": round(asked.hops / asked.answered, 3),
        "peak_mb": round(int(peak_kb) / 1024),
    }


if __name__ == "__main__":
    print(json.dumps(_large(int(sys.argv[1]))))
