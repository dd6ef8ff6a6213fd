"""The traces of the first lookups of a cell, on disk as those of every other run (experiments/traces/run.py)."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec

from chord.errors import RingcastError
from chord.host import Host
from chord.locating import trace_of
from chord.lookup import Walk
from chord.settings import Settings
from chord.trace import LookupTrace
from sim.paper.figure import Parameters
from sim.traces import Traces

MOST = 1_000
"""Lookups of a cell that leave a trace: the first ones. A figure counts all of them, and some have millions."""


class Traced:
    """Keeps the rows of the first `most` lookups. Whatever it is told, nothing that is measured changes by it.

    `settings` are those of the ring, or of the first one of several. `label` tells the identifiers of its rows from
    those of other cells.
    """

    def __init__(self, label: str = "", most: int = MOST) -> None:
        self.rows: list[LookupTrace] = []
        self.settings: Settings | None = None
        self._most = most
        self._rng = random.Random(f"{label}/traces")

    def walked(self, host: Host, walk: Walk, error: RingcastError | None = None, mode: str = "iterative") -> None:
        """A process has looked a key up by itself."""
        if len(self.rows) < self._most:
            outcome = "ok" if error is None else type(error).__name__
            self.rows.append(trace_of(host.kernel, "", walk, outcome, mode, self._rng.getrandbits(63)))
            self.settings = self.settings or host.settings

    def left(self, row: msgspec.Struct, settings: Settings) -> None:
        """A process has left a row, which may be that of a lookup."""
        if isinstance(row, LookupTrace) and len(self.rows) < self._most:
            self.rows.append(row)
            self.settings = self.settings or settings

    def save(self, directory: Path, run: str, commit: str, cell: Parameters) -> None:
        """Leave the rows in `directory`, and what they are in its run.json; nothing without rows.

        A list of one entry is the first finger once more: then `successors` is null, as there are no lists.
        """
        if self.settings is None:
            return
        traces = Traces(directory)
        for row in self.rows:
            traces.append(row)
        traces.close(
            {
                "run": run,
                "source": "sim",
                "cluster": self.settings.cluster,
                "ring_size": int(cell["nodes"]) * int(cell.get("vnodes", 1)),
                "successors": self.settings.successors if self.settings.successors > 1 else None,
                "bits": self.settings.space.bits,
                "commit": commit,
                "started_us": 0,
                "seed": cell["seed"],
                "most_lookups": self._most,
                "parameters": cell,
            }
        )
