"""`bench sim-events`: calls between simulated members beside a bare heap, and a large ring beside real time."""

from __future__ import annotations

import gc
import random
import statistics
import time
from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from itertools import cycle

from chord.effects import Call, Operation
from chord.messages import NextHop, Ping, Pointer
from experiments.bench.measurement import Figure, Progress, figure
from sim.cluster import Cluster
from sim.ideal import start_ideal

MEMBERS = (64, 1_000)
QUESTIONS = 64
"""So many each member asks before it starts over."""

WALL_S = 2.0
"""How long each measurement lasts at least."""

STEP_S = 0.05
"""Virtual seconds between two looks at the clock."""

LARGE = 10_000
SETTLE_S = 5.0
MEASURED_S = 6.0


def bench(runs: int, progress: Progress) -> list[Figure]:
    """Calls a second, and virtual seconds a second of a ring of 10,000.

    A call is a request and its reply between two members: an operation yields it, both kernels handle it, both frames
    are encoded and decoded and take a random time, and a time-out is set. Every member of an ideal ring asks the
    members that it knows, Ping and NextHop in turn, one call at a time; no upkeep goes on meanwhile. The large ring is
    the other way round: nothing but the upkeep of `dht join`'s defaults, measured once it goes its way.
    """
    return [*(_calls(members, runs, progress) for members in MEMBERS), _large_ring(runs, progress)]


def _calls(members: int, runs: int, progress: Progress) -> Figure:
    cluster = Cluster(seed=1)
    nodes = start_ideal(cluster, members, upkeep=False)
    counts = [0] * members
    for index, node in enumerate(nodes):
        member = node.host.members[0]
        known = list(dict.fromkeys([*member.fingers, *member.state.successors]))
        node.process.start(_ask(_questions(known, cluster.rng(f"asks/{index}")), counts, index))
    cluster.scheduler.run_for(1.0)
    ours, heap = [], []
    answered_at_first, happened_at_first = sum(counts), cluster.scheduler.happened
    with Frozen():
        for run in range(runs):
            progress(f"sim-events: run {run + 1} of {runs}, calls between {members} members")
            heap.append(bare_heap(members))
            answered, began = sum(counts), time.perf_counter()
            while (took_s := time.perf_counter() - began) < WALL_S:
                cluster.scheduler.run_for(STEP_S)
            ours.append((sum(counts) - answered) / took_s)
    events_per_call = (cluster.scheduler.happened - happened_at_first) / (sum(counts) - answered_at_first)
    notes = {
        "members": members,
        "events_per_call": round(events_per_call, 3),
        "events_per_s": round(statistics.median(ours) * events_per_call),
    }
    return figure("sim-events", ours, heap, "events of a bare heap; ours = calls", "1/s", notes)


def _questions(known: Sequence[Pointer], rng: random.Random) -> list[Call]:
    """What one member asks, over and over: drawn beforehand, for it is not drawing that is measured."""
    asked: list[Call] = []
    for _ in range(QUESTIONS // 2):
        asked += [Call(rng.choice(known), Ping()), Call(rng.choice(known), NextHop(rng.getrandbits(64)))]
    return asked


def _ask(questions: Iterable[Call], counts: list[int], index: int) -> Operation[None]:
    """Ask for ever, one call after the other; `counts[index]` tells how many were answered."""
    for question in cycle(questions):
        yield question
        counts[index] += 1


def bare_heap(pending: int) -> float:
    """Events a second of a loop that does nothing but push and pop (time, sequence, action)."""
    rng = random.Random(1)
    heap = [(rng.random(), number, _nothing) for number in range(pending)]
    heapify(heap)
    sequence = pending
    began = time.perf_counter()
    while (took_s := time.perf_counter() - began) < WALL_S / 2:
        for _ in range(10_000):
            now, _, action = heappop(heap)
            action()
            sequence += 1
            heappush(heap, (now + rng.random(), sequence, _nothing))
    return (sequence - pending) / took_s


def _nothing() -> None:
    pass


def _large_ring(runs: int, progress: Progress) -> Figure:
    progress(f"sim-events: making an ideal ring of {LARGE}")
    cluster = Cluster(seed=1, keep=lambda _row: None)
    start_ideal(cluster, LARGE)
    ours = []
    with Frozen():
        cluster.scheduler.run_for(SETTLE_S)
        sent, began_at = cluster.network.sent, cluster.now
        for run in range(runs):
            progress(f"sim-events: run {run + 1} of {runs}, {MEASURED_S:.0f} virtual seconds of a ring of {LARGE}")
            began = time.perf_counter()
            cluster.scheduler.run_for(MEASURED_S)
            ours.append(MEASURED_S / (time.perf_counter() - began))
    notes = {
        "nodes": LARGE,
        "successors": cluster.settings.successors,
        "virtual_s_each_run": MEASURED_S,
        "frames_per_node_and_virtual_s": round((cluster.network.sent - sent) / LARGE / (cluster.now - began_at), 2),
        "faults_in_the_end": len(cluster.faults()),
    }
    return figure("sim-events", ours, [1.0] * runs, "real time; ours = virtual seconds in a second", "", notes)


class Frozen:
    """What there is by now stays; the collector need not look through it again and again."""

    def __enter__(self) -> None:
        gc.collect()
        gc.freeze()

    def __exit__(self, *_error: object) -> None:
        gc.unfreeze()
