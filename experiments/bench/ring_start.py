"""`bench ring-start`: how long 30 nodes that join at once take to become one ideal ring."""

from __future__ import annotations

import time
from pathlib import Path

from broker.local_ring import LocalRing
from broker.processes import ProcessFailed
from broker.scratch import Scratch
from chord.trace import EventTrace
from experiments.bench.measurement import Figure, Progress, figure
from experiments.rings.settle import wait_for_full_lists
from experiments.traces.spools import Damage, read_spool

NODES = 30
BAR_S = 5.0


def bench(runs: int, progress: Progress) -> list[Figure]:
    """Seconds from the last bind to the ideal ring (every list full and in order), beside the bar of 5 s."""
    took: list[float] = []
    for run in range(runs):
        progress(f"ring-start: run {run + 1} of {runs}, {NODES} nodes")
        with Scratch() as folder, LocalRing(Path(folder)) as ring:
            ring.grow(1)
            first = ring.addresses()
            nodes = [ring.launch(first) for _ in range(NODES - 1)]
            ring.wait_ready(nodes)
            wait_for_full_lists(ring)
            ideal_at = time.time()
            took.append(ideal_at - _last_bind(Path(folder), NODES))
    notes = {"nodes": NODES, "seconds_each_run": [round(seconds, 2) for seconds in took]}
    return [figure("ring-start", took, [BAR_S] * runs, "5 s after the last bind", "s", notes)]


def _last_bind(folder: Path, count: int) -> float:
    """When the last node bound its socket, in seconds since the epoch, from the traces of the nodes."""
    deadline = time.monotonic() + 5.0
    while True:
        rows = [row for path in folder.iterdir() for row in read_spool(path, Damage())]
        bound = [row.at_us for row in rows if isinstance(row, EventTrace) and row.kind == "bound"]
        if len(bound) == count:
            return max(bound) / 1e6
        if time.monotonic() > deadline:
            raise ProcessFailed(f"{len(bound)} of {count} ring nodes left a trace of their bind within 5 s")
        time.sleep(0.1)
