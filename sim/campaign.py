"""Many chaos runs, seed after seed, on several processes: what they came to in all."""

from __future__ import annotations

import ctypes
import multiprocessing
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import msgspec

from sim.chaos import Chaos
from sim.plan import draw
from sim.stage import Verdict

PR_SET_PDEATHSIG = 1
FAILURES_KEPT = 20
SEEDS_AT_ONCE = 10


class Totals(msgspec.Struct, kw_only=True):
    """All runs together. `least_deliveries` and `least_faults` are those of the run that had fewest."""

    runs: int = 0
    unsafe: int = 0
    stuck: int = 0
    deliveries: int = 0
    least_deliveries: int | None = None
    faults: dict[str, int] = {}
    least_faults: int | None = None
    asked: dict[str, int] = {}
    acknowledged: int = 0
    checks: int = 0
    styles: dict[str, int] = {}
    starts: dict[int, int] = {}
    virtual_s: float = 0.0
    failures: list[Verdict] = []

    def add(self, verdict: Verdict) -> None:
        """Take one run in."""
        faults = sum(verdict.faults.values())
        self.runs += 1
        self.deliveries += verdict.deliveries
        self.least_deliveries = _least(self.least_deliveries, verdict.deliveries)
        self.least_faults = _least(self.least_faults, faults)
        self.acknowledged += verdict.acknowledged
        self.checks += verdict.checks
        self.virtual_s = round(self.virtual_s + verdict.virtual_s, 3)
        _count(self.faults, verdict.faults)
        _count(self.asked, verdict.asked)
        self.styles[verdict.style] = self.styles.get(verdict.style, 0) + 1
        self.starts[verdict.start] = self.starts.get(verdict.start, 0) + 1
        if verdict.verdict == "ok":
            return
        if verdict.verdict == "unsafe":
            self.unsafe += 1
        else:
            self.stuck += 1
        if len(self.failures) < FAILURES_KEPT:
            self.failures.append(verdict)


def _least(before: int | None, now: int) -> int:
    return now if before is None else min(before, now)


def _count(total: dict[Any, int], more: dict[Any, int]) -> None:
    for key, number in more.items():
        total[key] = total.get(key, 0) + number


def judge(seed: int) -> Verdict:
    """The run of one seed."""
    return Chaos(draw(seed)).run()


def runs(first: int, count: int, jobs: int) -> Iterator[Verdict]:
    """The runs of `count` seeds on `jobs` processes. Raises BrokenProcessPool when one of them is killed."""
    seeds = range(first, first + count)
    jobs = min(jobs, count)
    if jobs == 1:
        yield from map(judge, seeds)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context, _depend_on_the_parent) as pool:
        yield from pool.map(judge, seeds, chunksize=min(SEEDS_AT_ONCE, count // jobs))


def _depend_on_the_parent() -> None:
    """Leave interrupts to it, and end with it, however it ends (Linux, prctl(2))."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
