"""What `python -m experiments sweep` does: reads a plan, tells its cells, runs them, says what came of it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from chord.errors import LocalProtocolError
from experiments import plans
from experiments.report.terminal import progress_bar
from experiments.sweep import course, masters
from experiments.sweep.cells import Cell
from experiments.sweep.directory import SweepInfo, describe, opened
from experiments.sweep.estimate import estimate_s
from experiments.sweep.expand import cells_of
from experiments.sweep.overrides import Override, overridden
from experiments.sweep.places import place, refusal
from experiments.sweep.plan_file import BadPlan, PlanFile, convert, parse
from experiments.sweep.plan_text import plan_text
from experiments.sweep.telling import Telling
from experiments.sweep.values import numbers


@dataclass(frozen=True)
class Asked:
    """A plan as it was asked for: the cells that can run, and why others cannot."""

    name: str
    text: str
    plan: PlanFile
    overrides: Mapping[str, Override]
    cells: list[Cell]
    left_out: dict[str, str]


def read(name: str, changes: Mapping[str, Override]) -> Asked:
    """A plan by file or by name, with what the options change. Raises BadPlan."""
    text = plan_text(name)
    plan = convert(overridden(parse(text, name), _split_clients(changes)), name)
    cells = cells_of(plan, name)
    left_out = {cell.name: why for cell in cells if (why := refusal(cell)) is not None}
    if len(left_out) == len(cells):
        first, why = next(iter(left_out.items()))
        raise BadPlan(f"nothing to sweep: none of the {len(cells)} cells of {name} can run; {first}: {why}")
    cells = [cell for cell in cells if cell.name not in left_out]
    return Asked(Path(name).stem, text, plan, changes, cells, left_out)


def default_plan(where: str | None) -> str:
    """The plan that options change which name none."""
    return "static-scale" if where == "static" else "local"


def run(asked: Asked, out: Path, as_json: bool, master: str | None, conf: Mapping[str, str]) -> bool:
    """Run what is not finished; returns whether every cell is. Raises LocalProtocolError when `out` is taken.

    `master` is where Spark spreads static cells, `conf` are settings of Spark. Raises NoJava or SparkFailed.
    """
    plan = asked.plan
    masters.check(master, asked.cells)
    info = describe(asked.name, plan.title, asked.text, dict(asked.overrides), plan.theirs)
    with opened(out, info, asked.cells) as directory:
        before = len(asked.cells) - len(directory.waiting)
        with progress_bar(time_left=True) as bar:
            progress = Telling(bar, info.cells) if not sys.stderr.isatty() else bar
            failed = course.sweep(directory, place, progress, _spread(master, conf, directory.waiting))
    if as_json:
        print(msgspec.json.format(msgspec.json.encode(_result(asked, info, out, before)), indent=2).decode())
    else:
        _say(asked, out, before, failed)
    return not failed


def show_cells(asked: Asked, master: str | None, as_json: bool) -> None:
    """What would be run, where Spark would spread static cells, and about how long it would take a core at a time."""
    masters.check(master, asked.cells)
    spread = masters.chosen(master, asked.cells)
    rows = [{"cell": cell.name, "place": cell.place, "seconds": round(estimate_s(cell), 1)} for cell in asked.cells]
    total_s = sum(estimate_s(cell) for cell in asked.cells)
    if as_json:
        content = {
            "plan": asked.name,
            "cells": rows,
            "seconds": round(total_s, 1),
            "left_out": asked.left_out,
            "master": spread,
        }
        print(msgspec.json.format(msgspec.json.encode(content), indent=2).decode())
        return
    for cell in asked.cells:
        print(f"{_duration(estimate_s(cell)):>8}  {cell.name}")
    for name, why in asked.left_out.items():
        print(f"left out  {name}: {why}")
    by_spark = f", static ones spread by Spark over {spread}" if spread else ""
    print(f"{asked.name}: {len(rows)} cells, about {_duration(total_s)} of one core{by_spark}")


def show_plans(as_json: bool) -> None:
    """The plans that come with Ringcast."""
    found = {name: convert(parse(plans.text(name), name), name) for name in plans.names()}
    if as_json:
        told = [{"plan": name, "title": plan.title, "about": plan.about} for name, plan in found.items()]
        print(msgspec.json.format(msgspec.json.encode(told), indent=2).decode())
        return
    wide = max(map(len, found))
    for name, plan in found.items():
        print(f"{name:{wide}}  {plan.title}")


def _spread(master: str | None, conf: Mapping[str, str], waiting: Sequence[Cell]) -> course.Spread | None:
    """What runs static cells side by side, if it is worth it; Spark is imported only then."""
    chosen = masters.chosen(master, waiting)
    if chosen is None:
        return None
    if lacking := masters.lacking():
        raise LocalProtocolError(
            f"--master {chosen} needs {', '.join(lacking)}, not installed here: `pip install 'ringcast[analysis,sim]'`"
        )
    from experiments.sweep.spread import spread

    return partial(spread, master=chosen, conf=conf)


def _split_clients(changes: Mapping[str, Override]) -> dict[str, Override]:
    """`clients` as publishers and subscribers, half of them each."""
    found = dict(changes)
    clients = found.pop("clients", None)
    if clients is None:
        return found
    if clients == "":
        return {**found, "publishers": ""}
    try:
        halves = numbers(str(clients))
    except ValueError as error:
        raise LocalProtocolError(f"--clients: {error}") from None
    odd = [each for each in halves if each % 2 or each < 2]
    if odd:
        raise LocalProtocolError(
            f"--clients: expected even numbers, half publishers and half subscribers; seen {odd[0]}"
        )
    half: list[int | str] = [each // 2 for each in halves]
    return {**found, "publishers": half, "subscribers": half}


def _result(asked: Asked, info: SweepInfo, out: Path, before: int) -> dict[str, Any]:
    return {
        "plan": asked.name,
        "run": str(out),
        "done_before": before,
        "cells": msgspec.to_builtins(info.cells),
        "left_out": asked.left_out,
    }


def _say(asked: Asked, out: Path, before: int, failed: Mapping[str, str]) -> None:
    for name, why in asked.left_out.items():
        print(f"left out {name}: {why}")
    for name, why in failed.items():
        print(f"failed {name}: {why}")
    done = len(asked.cells) - len(failed)
    earlier = f", {before} of them before" if before else ""
    print(f"{out}: {done} of {len(asked.cells)} cells done{earlier}; python -m experiments analyse {out}")


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
