"""The lookups that runs left in their traces, as the latency model and the stretch need them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chord.trace import LookupTrace
from experiments.traces.run import BadRun, Part, RunInfo, parts
from experiments.traces.spools import Damage, read_spool

MODES = ("iterative", "recursive")
LEAST = 100
"""So many lookups of one mode make a workload, which tells something of latencies."""

REAL = ("live", "mininet", "unknown")


@dataclass(slots=True)
class Lookups:
    """The lookups of one mode in one part of a run that were answered without a time-out.

    `left_out`: those that failed or waited for somebody who did not answer, which is not what a model is of. `traces`
    is the folder that they come from, which tells two parts of one name apart.
    """

    info: RunInfo
    mode: str
    traces: Path
    rows: list[LookupTrace] = field(default_factory=list)
    left_out: int = 0

    @property
    def name(self) -> str:
        """The run, and the mode where it has several."""
        return self.info.run if self.info.mode == self.mode else f"{self.info.run} ({self.mode})"

    @property
    def is_workload(self) -> bool:
        """Whether looking up was the work, not what publishers and subscribers do on the way, a few times each."""
        asked_for = (self.info.extra.get("spec") or {}).get("lookups", LEAST)
        return bool(asked_for) and len(self.rows) + self.left_out >= LEAST


def read(runs: Sequence[Path], sources: Sequence[str] = REAL) -> list[Lookups]:
    """Those of every part of these runs that looked anything up, one for each mode; once, if a part is given twice.

    Raises BadRun when there are none, or a directory is no run.
    """
    found: list[Lookups] = []
    by_traces = {part.traces.resolve(): part for run in runs for part in parts(run)}
    for traces, part in by_traces.items():
        if part.info.source in sources:
            found += _of(part, traces)
    if not found:
        named = ", ".join(map(str, runs))
        raise BadRun(f"{named}: no lookups of a real ring; make some with `python -m experiments sweep local`")
    return found


def _of(part: Part, traces: Path) -> list[Lookups]:
    by_mode: dict[str, Lookups] = defaultdict(lambda: Lookups(part.info, "", traces))
    damage = Damage()
    for path in part.spools():
        for row in read_spool(path, damage):
            if not isinstance(row, LookupTrace) or row.mode not in MODES:
                continue
            lookups = by_mode[row.mode]
            lookups.mode = row.mode
            if row.outcome == "ok" and not row.timeouts:
                lookups.rows.append(row)
            else:
                lookups.left_out += 1
    return [by_mode[mode] for mode in MODES if by_mode[mode].rows]


def addresses(lookups: Lookups) -> list[str]:
    """Every process that answered any of them."""
    seen: dict[str, Any] = {}
    for row in lookups.rows:
        seen.update(dict.fromkeys(hop.address for hop in row.hop_list))
        seen[row.owner_address] = None
    return sorted(seen)
