"""`bench ring-kill`: lookups through survivors while 4 of 16 nodes are killed, beside the same without."""

from __future__ import annotations

import random
import time

from broker.local_ring import LocalRing, Node
from broker.processes import ProcessFailed
from experiments.bench.measurement import Figure, Progress, figure
from experiments.rings.load import Answer, LookupLoad, wrong_owners
from experiments.rings.settle import wait_for_full_lists

NODES = 16
KILLED = 4
SURVIVORS_ASKED = 4
RATE = 220.0
BEFORE_S = 2.0
AFTER_S = 10.0


def bench(runs: int, progress: Progress) -> list[Figure]:
    """p99 of lookups in milliseconds, and how many failed or named the wrong owner."""
    killed: list[float] = []
    quiet: list[float] = []
    failures: list[int] = []
    asked = 0
    rates = []
    for run in range(runs):
        progress(f"ring-kill: run {run + 1} of {runs}")
        with LocalRing() as ring:
            ring.grow(NODES)
            wait_for_full_lists(ring)
            victims = random.Random(run).sample(ring.nodes, KILLED)
            survivors = [node for node in ring.nodes if node not in victims]
            answers, wrong = _load(ring, survivors, [])
            quiet.append(_p99_ms(answers))
            if wrong:
                raise ProcessFailed(f"{wrong} of {len(answers)} lookups failed before anything was killed")
            answers, wrong = _load(ring, survivors, victims)
            killed.append(_p99_ms(answers))
            failures.append(wrong)
            asked += len(answers)
            rates.append(len(answers) / (BEFORE_S + AFTER_S))
    notes = {
        "failures": sum(failures),
        "lookups": asked,
        "lookups_per_s": round(min(rates), 1),
        "p99_ms_each_run": [round(value, 1) for value in killed],
        "nodes": NODES,
        "killed": KILLED,
    }
    return [figure("ring-kill", killed, quiet, "p99 of the same run without the kill", "ms", notes)]


def _load(ring: LocalRing, survivors: list[Node], victims: list[Node]) -> tuple[list[Answer], int]:
    """Run the load, killing `victims` on the way; the answers, and how many of them are failures."""
    before = [node.identifier for node in ring.nodes]
    after = [node.identifier for node in survivors] if victims else before
    load = LookupLoad([node.address for node in survivors[:SURVIVORS_ASKED]], RATE)
    kill_at = time.monotonic() + BEFORE_S
    killed_at: list[float] = []

    def kill() -> bool:
        if victims and not killed_at and time.monotonic() >= kill_at:
            for node in victims:
                node.process.kill()
            for node in victims:
                ring.kill(node)
            killed_at.append(time.monotonic())
        return False

    try:
        load.run(BEFORE_S + AFTER_S, kill)
    finally:
        load.close()
    return load.answers, len(wrong_owners(load.answers, before, after, killed_at[0] if killed_at else time.monotonic()))


def _p99_ms(answers: list[Answer]) -> float:
    times = sorted(answer.ended_at - answer.started_at for answer in answers if not answer.error)
    return times[int(len(times) * 0.99)] * 1e3
