"""A figure of `python -m sim paper` as a cell of a sweep: its own cells below, its table and picture beside."""

from __future__ import annotations

from pathlib import Path

import msgspec

from experiments.sweep.cells import Cell, Told
from experiments.sweep.description import describe_cell
from experiments.traces.run import RunInfo
from sim.paper import course, report
from sim.paper.figures import FIGURES

JOBS = 2
CELLS = "cells"


def run(cell: Cell, directory: Path, told: Told) -> RunInfo:
    """Measure, tabulate and draw the figure; its lookups' traces are those of the first 1,000 of each of its cells."""
    info = describe_cell(cell, directory, "sim")
    info.ring_size = info.successors = info.seed = None
    figure = FIGURES[cell.figure or ""]
    total, done = len(figure.cells(cell.quick)), 0

    def advance() -> None:
        nonlocal done
        done += 1
        told(done, total)

    measured = course.measured(figure, directory / CELLS, cell.quick, JOBS, info.commit, advance)
    table = figure.table(measured)
    report.write_csv(table, directory / f"{figure.name}.csv")
    report.draw(figure, table, measured, directory / f"{figure.name}.png")
    content = {
        "name": figure.name,
        "title": figure.title,
        "source": figure.source,
        "quick": cell.quick,
        "seeds": sorted({int(one.parameters["seed"]) for one in measured}),
        "columns": table.columns,
        "rows": table.rows,
        "expectations": [{"text": text, "holds": holds} for text, holds in table.agrees],
    }
    encoded = msgspec.json.format(msgspec.json.encode(content), indent=1)
    (directory / "figure.json").write_bytes(encoded + b"\n")
    info.extra["figure"] = figure.name
    return info
