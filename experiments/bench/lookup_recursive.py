"""`bench lookup-recursive`: recursive lookups against iterative ones over the same 16 processes."""

from __future__ import annotations

import random
import statistics
import time

from broker.local_ring import LocalRing
from chord.client import Mode, RingClient
from chord.lookup import Walk
from chord.messages import Neighbours
from experiments.bench.lookup import names_elsewhere
from experiments.bench.measurement import Figure, Progress, figure
from experiments.rings.settle import FINGERS_S, wait_for_full_lists

NODES = 16
WARM = 60
"""Lookups through each node and in each mode that are not counted: they make the connections."""

BLOCKS = 2
ASKED_AT_ONCE = 50
"""The modes take turns in blocks of so many, so that whatever else the machine does is borne by both."""


def bench(runs: int, progress: Progress) -> list[Figure]:
    """p50 of a lookup, up to the owner's own word, in microseconds.

    Each run has a ring of its own and asks each node of it random names that the node does not own. No owner is cached.
    """
    walks: dict[Mode, list[list[Walk]]] = {mode: [] for mode in Mode}
    rng = random.Random(1)
    for run in range(runs):
        progress(f"lookup-recursive: run {run + 1} of {runs}, on a new ring of {NODES}")
        with LocalRing() as ring:
            ring.grow(NODES)
            views = wait_for_full_lists(ring)
            time.sleep(FINGERS_S)
            for mode, asked in _ask(views, rng).items():
                walks[mode].append(asked)
    recursive, iterative = walks[Mode.RECURSIVE], walks[Mode.ITERATIVE]
    notes: dict[str, object] = {"nodes": NODES, "lookups_each_run": len(recursive[0])}
    for mode, found in walks.items():
        everything = [walk for of_run in found for walk in of_run]
        notes[f"hops_{mode}"] = round(statistics.fmean(walk.hops for walk in everything), 3)
        notes[f"timeouts_{mode}"] = sum(walk.timeouts for walk in everything)
        notes[f"p99_us_{mode}"] = round(statistics.quantiles((_us(walk) for walk in everything), n=100)[98], 1)
    return [
        figure(
            "lookup-recursive",
            [_p50(each) for each in recursive],
            [_p50(each) for each in iterative],
            "the same lookups, iterative",
            "us",
            notes,
        )
    ]


def _ask(views: list[Neighbours], rng: random.Random) -> dict[Mode, list[Walk]]:
    """Lookups through each node in turn, by mode."""
    walks: dict[Mode, list[Walk]] = {mode: [] for mode in Mode}
    for view in views:
        names = names_elsewhere(view, rng)
        via = [view.member.address]
        with RingClient(via) as iterative, RingClient(via, mode=Mode.RECURSIVE) as recursive:
            clients = {Mode.ITERATIVE: iterative, Mode.RECURSIVE: recursive}
            for client in clients.values():
                for _ in range(WARM):
                    client.lookup(next(names))
            for _ in range(BLOCKS):
                for mode, client in clients.items():
                    walks[mode] += [client.lookup(next(names)) for _ in range(ASKED_AT_ONCE)]
    return walks


def _us(walk: Walk) -> float:
    return (walk.ended_at - walk.started_at) * 1e6


def _p50(walks: list[Walk]) -> float:
    return statistics.median(_us(walk) for walk in walks)
