"""How long things took after something was done to a run: a kill, a link that was cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from experiments.analysis.losses import Flow
from experiments.analysis.moments import Moment, moments
from experiments.traces.run import RunInfo


def failovers(info: RunInfo, flows: Sequence[Flow], after: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows by moment and kind. `ms` is what one waits for: the first of a kind, or the last lookup that failed.

    Of deliveries: how long after the kill of a primary the last flow of each dissemination went on.
    """
    found = []
    by_time: dict[int, list[dict[str, Any]]] = {}
    for row in after:
        by_time.setdefault(row["at_us"], []).append(row)
    for moment in moments(info):
        for row in by_time.get(moment.at_us, ()):
            failed = row["kind"].startswith("lookup ") and row["kind"] != "lookup ok"
            first, last = row["first_us"] / 1e3, row["last_us"] / 1e3
            found.append(_row(moment, row["kind"], row["count"], first, last, last if failed else first))
        if moment.kind == "primary kill":
            found += _resumed(moment, flows)
    return found


def _resumed(moment: Moment, flows: Sequence[Flow]) -> list[dict[str, Any]]:
    rows = []
    for mode in sorted({flow.mode for flow in flows}):
        waited = [(flow.resumed_us - moment.at_us) / 1e3 for flow in flows if flow.mode == mode and flow.resumed_us]
        if waited:
            rows.append(_row(moment, f"delivery {mode}", len(waited), min(waited), max(waited), max(waited)))
    return rows


def _row(moment: Moment, kind: str, count: int, first_ms: float, last_ms: float, ms: float) -> dict[str, Any]:
    return {
        "fault": moment.kind,
        "target": moment.target,
        "at_us": moment.at_us,
        "kind": kind,
        "count": count,
        "first_ms": first_ms,
        "last_ms": last_ms,
        "ms": ms,
    }
