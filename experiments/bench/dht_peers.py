"""`bench dht-peers`: a small value got from a node that does not hold it, of 16, beside kademlia and OpenDHT."""

from __future__ import annotations

import random
import statistics
from contextlib import ExitStack

from experiments.bench.dht_report import Answers
from experiments.bench.dht_systems import NODES, OURS, PEERS, SYSTEMS, System
from experiments.bench.measurement import Figure, Progress, figure

BLOCKS = 4
ASKED_AT_ONCE = 48

Percentiles = dict[str, float]


def bench(runs: int, progress: Progress) -> list[Figure]:
    """p50 and p99 in milliseconds of each way to ask ours, beside the better of the two peers in the same run.

    All systems run at the same time and are asked in turns, in blocks.
    """
    seen: list[dict[str, Answers]] = []
    for run in range(runs):
        progress(f"dht-peers: run {run + 1} of {runs}, {len(SYSTEMS)} times {NODES} processes")
        rng = random.Random(run)
        with ExitStack() as stack:
            systems = {name: start(stack, rng) for name, start in SYSTEMS.items()}
            seen.append(_ask(systems, rng))
    return compare("dht-peers", seen)


def _ask(systems: dict[str, System], rng: random.Random) -> dict[str, Answers]:
    """Every asker of each system in turns."""
    together = {name: Answers(took_us=[]) for name in systems}
    for block in range(BLOCKS * 4):
        for name, system in systems.items():
            asker = system.askers[block % len(system.askers)]
            add(together[name], system.get(asker, rng.choices(system.keys, k=ASKED_AT_ONCE)))
    return together


def add(total: Answers, more: Answers) -> None:
    """Count more answers in."""
    total.took_us += more.took_us
    total.failed += more.failed
    total.passed_over += more.passed_over


def compare(name: str, seen: list[dict[str, Answers]]) -> list[Figure]:
    """One figure for each way to ask ours and each percentile; every run of each system is in the notes."""
    figures = []
    for way in OURS:
        for percentile in ("p50", "p99"):
            of_run = [{each: round(_ms(answers)[percentile], 3) for each, answers in run.items()} for run in seen]
            ours = [run[way] for run in of_run]
            reference = [min(run[peer] for peer in PEERS) for run in of_run]
            notes: dict[str, object] = {"nodes": NODES, "gets_each_run": len(seen[0][way].took_us)}
            notes["failed"] = sum(run[way].failed for run in seen)
            for peer in PEERS:
                notes[f"{peer}_ms"] = round(statistics.median(run[peer] for run in of_run), 3)
                notes[f"{peer}_ratio"] = round(statistics.median(run[way] / run[peer] for run in of_run), 3)
                notes[f"{peer}_failed"] = sum(run[peer].failed for run in seen)
            notes["ms_each_run"] = of_run
            said = f"{percentile}; ours = {way}; the better of {' and '.join(PEERS)}"
            figures.append(figure(name, ours, reference, said, "ms", notes))
    return figures


def _ms(answers: Answers) -> Percentiles:
    ordered = sorted(answers.took_us)
    return {
        "p50": statistics.median(ordered) / 1e3,
        "p99": ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)] / 1e3,
    }
