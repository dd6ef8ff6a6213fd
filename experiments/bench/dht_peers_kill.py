"""`bench dht-peers-kill`: the same right after kill -9 of 4 of the 16 processes of each system."""

from __future__ import annotations

import random
from contextlib import ExitStack

from experiments.bench.dht_peers import add, compare
from experiments.bench.dht_report import Answers
from experiments.bench.dht_systems import NODES, SYSTEMS
from experiments.bench.measurement import Figure, Progress

KILLED = 4
GETS = 200
EVERY_S = 0.02
"""Each of the four askers gets a key every so often: three to four seconds, in which a ring repairs itself."""

UNTIL_S = 15.0
"""Of a system that answers slowly no more are begun after this long."""


def bench(runs: int, progress: Progress) -> list[Figure]:
    """p50 and p99 in milliseconds, from the kill on. One system runs at a time, so that each is alone when it heals."""
    seen: list[dict[str, Answers]] = []
    for run in range(runs):
        answers: dict[str, Answers] = {}
        for name, start in SYSTEMS.items():
            progress(f"dht-peers-kill: run {run + 1} of {runs}, {KILLED} of {NODES} of {name}")
            rng = random.Random(run)
            with ExitStack() as stack:
                system = start(stack, rng)
                system.kill(KILLED)
                answers[name] = Answers(took_us=[])
                for each in system.get_at_once(rng, GETS, EVERY_S, UNTIL_S):
                    add(answers[name], each)
        seen.append(answers)
    return compare("dht-peers-kill", seen)
