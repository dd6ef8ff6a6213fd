"""Cells of rings that stand still, by the vectorised engine: no spools, but counts in aggregates.parquet.

Here a cell runs block after block; spread.py has Spark run them, and leaves the same.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from experiments.sweep.blocks import Outcome, attempt, blocks_of
from experiments.sweep.cells import Cell, CellFailed, Told
from experiments.sweep.description import describe_cell
from experiments.traces.run import RunInfo
from sim.paper.counts import mean, standard_error
from sim.static.report import Report

AGGREGATES = "aggregates.parquet"

SCHEMA = pa.schema(
    [
        ("source", pa.string()),
        ("seed", pa.int64()),
        ("ring_size", pa.int64()),
        ("successors", pa.int32()),
        ("vnodes", pa.int32()),
        ("mode", pa.string()),
        ("hops", pa.int32()),
        ("count", pa.int64()),
        ("timeouts", pa.int64()),
    ]
)
"""A row for each hop count of a ring, whose seed it says: how many lookups took it, how often they waited for the dead.
"""


def run(cell: Cell, directory: Path, told: Told) -> RunInfo:
    """Run one cell. Raises CellFailed."""
    info = describe_cell(cell, directory, "static")
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        told(done, cell.lookups)

    return leave(cell, directory, info, [attempt(block, advance) for block in blocks_of(cell)])


def leave(cell: Cell, directory: Path, info: RunInfo, outcomes: Sequence[Outcome]) -> RunInfo:
    """Leave the counts of a cell whose blocks have run, and say in `info` what it was. Raises CellFailed."""
    reports = _reports(outcomes)
    write(cell, reports, directory / AGGREGATES)
    info.ring_size = reports[0].members
    info.successors = cell.successors or None
    info.extra |= _told(reports)
    return info


def write(cell: Cell, reports: Sequence[Report], path: Path) -> None:
    """Leave the counts of some rings of a cell in a Parquet file, in the order of the blocks."""
    rows = [
        {
            "source": "static",
            "seed": report.options.seed,
            "ring_size": report.members,
            "successors": cell.successors,
            "vnodes": cell.vnodes,
            "mode": cell.mode,
            "hops": hops,
            "count": count,
            "timeouts": report.timeouts_at.get(hops, 0),
        }
        for report in reports
        for hops, count in report.hops.distribution.items()
    ]
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), path, compression="zstd")


def _reports(outcomes: Sequence[Outcome]) -> list[Report]:
    """Those of all blocks. Raises CellFailed with the first that failed, and how many did."""
    failed = [(number, each) for number, each in enumerate(outcomes, 1) if each.report is None]
    if failed:
        number, first = failed[0]
        others = f" ({len(failed)} of {len(outcomes)} blocks failed)" if len(failed) > 1 else ""
        first_line, _, more = first.failure.partition("\n")
        told = f"block {number} of {len(outcomes)}, seed {first.options.seed}: {first_line}{others}"
        raise CellFailed(f"{told}\n{more}" if more else told)
    return [each.report for each in outcomes if each.report is not None]


def _told(reports: Sequence[Report]) -> dict[str, Any]:
    """Figures of all rings. `mean_hops_error` is the standard error of their mean, of several rings alone."""
    hops = Counter[int]()
    for report in reports:
        hops.update(report.hops.distribution)
    lookups = sum(report.options.lookups for report in reports)
    means = [report.hops.mean for report in reports]
    making_s, lookups_s = (sum(getattr(each, name) for each in reports) for name in ("making_s", "lookups_s"))
    return {
        "lookups": lookups,
        "rings": len(reports),
        "failed": sum(report.failed for report in reports),
        "mean_hops": mean(hops),
        "mean_hops_error": standard_error(means) if len(means) > 1 else None,
        "expected_hops": reports[0].expected_hops,
        "load_p1": statistics.fmean(report.load_p1 for report in reports),
        "load_p99": statistics.fmean(report.load_p99 for report in reports),
        "making_s": round(making_s, 3),
        "lookups_per_s": round(lookups / lookups_s),
    }
