"""The course of a sweep: cell after cell, each in a part of the run directory with a run.json of its own."""

from __future__ import annotations

from collections.abc import Callable

from experiments.analysis.queries import Progress
from experiments.sweep.clients import sweep_clients
from experiments.sweep.lookups import sweep_ring
from experiments.sweep.plan import Plan


def sweep(plan: Plan, progress: Progress) -> None:
    """Measure every cell. Raises ProcessFailed; parts that were done by then stay."""
    plan.out.mkdir(parents=True, exist_ok=True)
    for size, part in plan.rings():
        sweep_ring(part, size, plan.lookups, _telling(progress, f"ring of {size}", plan.lookups))
    for mode, clients, part in plan.client_cells():
        sweep_clients(part, mode, clients, _telling(progress, f"{clients} {mode}", clients // 2))


def _telling(progress: Progress, what: str, total: int) -> Callable[[int], None]:
    progress(what, 0, total)
    return lambda done: progress(what, done, total)
