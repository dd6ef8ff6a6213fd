"""About how long a cell takes, in seconds: for the progress bar and `--dry-run`, on two cores of 2020."""

from __future__ import annotations

import math

from experiments.rings.settle import FINGERS_S
from experiments.sweep.cells import Cell

NODE_S = 0.18
"""To start a process of ours, two at a time."""

STACK_S = 9.0
"""ZooKeeper, and the election of primaries."""

HOP_S = 0.0005
SIMULATED_HOP_S = 0.0002
UPKEEP_S = 0.006
"""To simulate a node of a ring that forms, for all of the time that it takes."""

STATIC_MEMBER_S = 3e-7
STATIC_LOOKUP_S = 1e-6
FIGURE_S, QUICK_FIGURE_S = 180.0, 12.0
HOST_S = 1.0
"""To start and remove a host of Mininet."""


def estimate_s(cell: Cell) -> float:
    """About how long a cell takes."""
    hops = 1 + math.log2(max(2, cell.nodes * cell.vnodes)) / 2
    match cell.place:
        case "static":
            members = cell.nodes * cell.vnodes * cell.ring_count
            return 0.5 + STATIC_MEMBER_S * members + STATIC_LOOKUP_S * cell.lookups
        case "sim":
            if cell.figure:
                return QUICK_FIGURE_S if cell.quick else FIGURE_S
            return 0.2 + UPKEEP_S * cell.nodes * cell.vnodes + SIMULATED_HOP_S * hops * cell.lookups
    return _processes_s(cell) + max(cell.workload_s or 0.0, HOP_S * hops * cell.lookups)


def _processes_s(cell: Cell) -> float:
    """To start everything and wait until it is ready."""
    brokers = cell.zones * cell.replicas if cell.dissemination == "brokered" else 0
    processes = cell.nodes + cell.publishers + cell.subscribers + brokers
    started_s = 2.0 + NODE_S * processes + (STACK_S if brokers else 0.0)
    if cell.lookups and cell.nodes > cell.successors + 1:
        started_s += FINGERS_S
    return started_s + (HOST_S * processes if cell.place == "mininet" else 0.0)
