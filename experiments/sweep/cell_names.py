"""What cells are called, in sweep.json and as folders: what they are, in words that a folder's name may have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from experiments.sweep.cells import PAYLOAD_BYTES, SUCCESSORS, Cell


def named(cell: Cell) -> Cell:
    """The cell with a name of what it is: where, how many nodes, and what is not as usual."""
    return replace(cell, name="-".join(_words(cell)))


def _words(cell: Cell) -> Iterator[str]:
    yield cell.place
    if cell.figure:
        yield f"{cell.figure}-quick" if cell.quick else cell.figure
        return
    if cell.topology:
        yield re.sub(r"[^a-z0-9]+", "_", cell.topology.lower()).strip("_")
    yield f"n{cell.nodes:04}"
    if cell.vnodes > 1:
        yield f"v{cell.vnodes}"
    if cell.successors != SUCCESSORS:
        yield f"r{cell.successors}"
    if cell.mode != "iterative":
        yield cell.mode
    if cell.dissemination:
        yield f"{cell.dissemination}-p{cell.publishers:03}-s{cell.subscribers:03}"
    if cell.payload_bytes != PAYLOAD_BYTES:
        yield f"{cell.payload_bytes}b"
    if cell.latency:
        yield cell.latency
    if cell.rings:
        yield f"rings{cell.rings}"
    if cell.fault_plan:
        yield cell.fault_plan
    yield f"seed{cell.seed}"
    if cell.repeat > 1:
        yield f"again{cell.repeat}"
