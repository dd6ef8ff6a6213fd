"""Where Spark spreads static cells, if it does, and how many cores a task of theirs takes for its memory."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from importlib.util import find_spec

from broker.java import NoJava, choose
from chord.errors import LocalProtocolError
from experiments.sweep.cells import Cell
from experiments.sweep.estimate import estimate_s
from experiments.sweep.machine import machine

PACKAGES = ("pyspark", "pyarrow", "pandas")
"""Spark asks for the last one before it maps in Arrow, and does without."""

WORTH_S = 60.0
"""Cells that take one core so long are spread unasked: Java starts in 5 to 15 s."""

PYTHON_MB = 200.0
MEMBER_BYTES = 40
"""What a ring takes while it is made, for each member; twice that with virtual nodes."""

SHARE_OF_MEMORY = 0.5


def check(master: str | None, cells: Sequence[Cell]) -> None:
    """Raises LocalProtocolError for a master of which no cell would make use."""
    if master and not _static(cells):
        raise LocalProtocolError("--master is for static cells, and there are none; take --where static, or leave it")


def chosen(asked: str | None, cells: Sequence[Cell]) -> str | None:
    """The master by which static cells run: the one that is asked for, or all cores, if it is worth it and can be."""
    static = _static(cells)
    if asked is not None or not static:
        return asked if asked and static else None
    cores = len(os.sched_getaffinity(0))
    if cores == 1 or sum(map(estimate_s, static)) < WORTH_S or lacking():
        return None
    try:
        choose(os.environ)
    except NoJava:
        return None
    return f"local[{cores}]"


def lacking() -> list[str]:
    """The packages that spreading needs and that are not installed."""
    return [name for name in PACKAGES if find_spec(name) is None]


def cores_a_task(master: str, cells: Sequence[Cell], memory_mb: float | None = None) -> int:
    """As many as keep the rings that are there at a time within half of the memory of this machine; 1 on a cluster."""
    cores = _cores(master)
    if cores is None:
        return 1
    memory_mb = machine()["memory_mb"] if memory_mb is None else memory_mb
    fit = max(1, int(SHARE_OF_MEMORY * memory_mb / max(map(needed_mb, cells))))
    return math.ceil(cores / min(cores, fit))


def needed_mb(cell: Cell) -> float:
    """About how much memory one ring of a static cell takes, with the process that makes it."""
    members = cell.nodes * cell.vnodes
    return PYTHON_MB + members * MEMBER_BYTES * (2 if cell.vnodes > 1 else 1) / 1e6


def _cores(master: str) -> int | None:
    """Those of a local master."""
    found = re.fullmatch(r"local(?:\[(\d+|\*)(?:\s*,\s*\d+)?\])?", master)
    if found is None:
        return None
    written = found[1] or "1"
    return len(os.sched_getaffinity(0)) if written == "*" else max(1, int(written))


def _static(cells: Sequence[Cell]) -> list[Cell]:
    return [cell for cell in cells if cell.place == "static"]
