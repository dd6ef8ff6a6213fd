"""Path lengths in static rings: of cells that leave no traces, but how many lookups took how many hops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from experiments.analysis.lookups import hops_of
from experiments.analysis.summary import StaticRing
from experiments.traces.beside import aggregates
from experiments.traces.run import Part

TOLD = ("lookups", "failed", "expected_hops")
"""What run.json tells of a static cell."""


def static_rings(found: Sequence[Part]) -> list[StaticRing]:
    """One row a cell, ring size and mode, all of its rings together, by size. Raises BadRun for a damaged file."""
    rows = [row for part in found for row in _rings(part)]
    return sorted(rows, key=lambda row: (row.ring_size or 0, row.mode, row.run))


def _rings(part: Part) -> list[StaticRing]:
    info = part.info
    counted: dict[tuple[int | None, str], Counter[int]] = {}
    for row in aggregates(part):
        hops = counted.setdefault((row.get("ring_size", info.ring_size), row["mode"]), Counter())
        hops[row["hops"]] += row["count"]
    alone = len(counted) == 1  # only then does run.json speak of this row
    lookups, failed, expected = (info.extra.get(name) if alone else None for name in TOLD)
    return [
        StaticRing(
            run=info.run,
            ring_size=ring_size,
            successors=info.successors,
            vnodes=info.vnodes,
            mode=mode,
            lookups=lookups if isinstance(lookups, int) else hops.total(),
            failed=failed if isinstance(failed, int) else None,
            hops=hops_of(hops),
            expected_hops=expected if isinstance(expected, float) else None,
        )
        for (ring_size, mode), hops in counted.items()
        if hops.total()
    ]
