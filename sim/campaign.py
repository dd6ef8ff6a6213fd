"""Many chaos runs, seed after seed, on several processes: what they came to in all."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import msgspec

from sim.chaos import Chaos
from sim.parallel import results
from sim.plan import draw
from sim.stage import Verdict

FAILURES_KEPT = 20


class Totals(msgspec.Struct, kw_only=True):
    """All runs together. `faults` were injected, `asked` are questions.

    `least_deliveries` and `least_faults` are those of the run that had fewest.
    """

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
        """Take one run in. Of the failures the first twenty of each kind are kept."""
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
        if sum(kept.verdict == verdict.verdict for kept in self.failures) < FAILURES_KEPT:
            self.failures.append(verdict)


def _least(before: int | None, now: int) -> int:
    return now if before is None else min(before, now)


def _count(total: dict[Any, int], more: dict[Any, int]) -> None:
    for key, number in more.items():
        total[key] = total.get(key, 0) + number


def judge(seed: int) -> Verdict:
    """The run of one seed."""
    return Chaos(draw(seed)).run()


def runs(first: int, count: int, jobs: int) -> Generator[Verdict, None, None]:
    """The runs of `count` seeds on `jobs` processes. Raises BrokenProcessPool when one of them is killed.

    Ends them when it is closed or interrupted, in the middle of what they do.
    """
    return results(judge, range(first, first + count), min(jobs, count))
