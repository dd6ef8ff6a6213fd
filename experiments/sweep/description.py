"""What run.json says of one cell, from the cell itself."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Literal

from chord.settings import Settings
from experiments.sweep.cells import Cell
from experiments.traces.run import RunInfo
from sim.commit import checked_out


def describe_cell(cell: Cell, directory: Path, source: Literal["live", "mininet", "sim", "static"]) -> RunInfo:
    """What is known of a cell that begins now. `run` is the sweep's name and the cell's."""
    clients = cell.publishers + cell.subscribers
    shares = cell.dissemination is not None
    return RunInfo(
        run=f"{directory.resolve().parent.name}-{directory.name}",
        source=source,
        cluster=Settings().cluster,
        ring_size=cell.nodes * cell.vnodes,
        successors=cell.successors,
        bits=Settings().space.bits,
        commit=checked_out(),
        started_us=time.time_ns() // 1000,
        seed=cell.seed,
        clients=clients if shares else None,
        vnodes=cell.vnodes,
        mode=cell.mode,
        dissemination=cell.dissemination,
        publishers=cell.publishers if shares else None,
        subscriber_count=cell.subscribers if shares else None,
        payload_bytes=cell.payload_bytes if shares else None,
        repeat=cell.repeat,
        faults=[],
    )
