"""Every run of the report in a table, and every figure of `sim paper`, with what is known of it."""

from __future__ import annotations

from collections import Counter

from experiments.analysis.summary import SOURCE_NAMES
from experiments.page.figures.told import seeds
from experiments.page.material import Material, Run, when
from experiments.page.tables import Table

MOST_RUNS = 200
COLUMNS = ("run", "source", "N", "virtual nodes", "successors", "seed", "lookups", "failed", "started", "commit")


def runs_table(material: Material) -> list[Table]:
    """One table of the runs, one of the published figures; each as far as there are any."""
    lookups: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for row in material.lookups:
        lookups[row.run] += row.count
        failed[row.run] += row.count * (row.outcome != "ok")
    rows = [_row(run, lookups[run.name], failed[run.name]) for run in material.runs[:MOST_RUNS]]
    found = [Table("Runs", COLUMNS, rows, max(0, len(material.runs) - MOST_RUNS))] if rows else []
    papers = [
        [
            paper.name,
            "simulated",
            seeds(paper.seeds) or "not kept",
            str(len(paper.rows)),
            when(paper.written_us),
            paper.commit,
        ]
        for paper in material.papers
    ]
    columns = ("figure", "source", "seeds", "rows", "written", "commit")
    return (
        [*found, Table("Figures of the papers, run anew by python -m sim paper", columns, papers)] if papers else found
    )


def _row(run: Run, lookups: int, failed: int) -> list[str]:
    numbers = (run.ring_size, run.vnodes, run.successors, run.seed)
    told = ["–" if value is None else f"{value:,}" for value in numbers]
    return [
        run.name,
        SOURCE_NAMES[run.source],
        *told,
        f"{lookups:,}",
        f"{failed:,}",
        when(run.started_us),
        run.commit[:12],
    ]
