"""The names in a plan: those of fault plans, which become part of a folder's name, and those that have to be known."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from experiments.sweep.plan_file import BadPlan, PlanFile
from experiments.sweep.quoting import quoted
from sim.latency import Model

NO_FAULTS = "none"
MOST_CHARACTERS = 64
_NAME = re.compile(rf"(?!\.)[A-Za-z0-9._-]{{1,{MOST_CHARACTERS}}}")
ALLOWED = f"1 to {MOST_CHARACTERS} characters of [A-Za-z0-9._-], the first of them not a dot"


def check_names(plan: PlanFile, file: Path | str) -> None:
    """Raises BadPlan for a fault plan whose name is none, and for a latency or a figure that there is not."""
    for name in plan.faults:
        if not _NAME.fullmatch(name):
            raise BadPlan(f"{file}: faults: expected names of {ALLOWED}; seen {quoted(name)}")
        if name == NO_FAULTS:
            raise BadPlan(f"{file}: faults: expected another name than {NO_FAULTS!r}, which is a cell without faults")
    for index, block in enumerate(plan.sweep):
        if block.latency is not None and block.latency not in list(Model):
            raise _unknown(file, index, "latency", list(Model), block.latency)
        for figure in _several(block.figure):
            from sim.paper.figures import FIGURES  # only who asks for a figure loads them

            if figure not in FIGURES:
                raise _unknown(file, index, "figure", list(FIGURES), figure)


def _unknown(file: Path | str, index: int, key: str, known: list[str], seen: str) -> BadPlan:
    return BadPlan(f"{file}: sweep[{index}].{key}: expected one of {', '.join(known)}; seen {quoted(seen)}")


def _several(figure: str | list[str] | None) -> Iterator[str]:
    if figure is not None:
        yield from [figure] if isinstance(figure, str) else figure
