"""Cells on processes of this machine: ring nodes, brokers and clients, one process each."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from broker.local_ring import LocalRing
from broker.scratch import Scratch
from broker.stack import LocalStack
from experiments.rings.settle import FINGERS_S, wait_for_full_lists
from experiments.sweep.cells import Cell, Told
from experiments.sweep.crew import Crew
from experiments.sweep.description import describe_cell
from experiments.sweep.local_faults import LocalFaults
from experiments.sweep.lookups import Lookups
from experiments.traces.run import TRACES, RunInfo, SubscriberInfo

VIA = 3
"""Nodes that each client is told of."""

IDEAL_WITHIN_S = 60.0


@dataclass(frozen=True)
class _System:
    """What was started; `stack` only for brokered dissemination. `ready_s` is how long that took."""

    ring: LocalRing
    stack: LocalStack | None
    ready_s: float


def run(cell: Cell, directory: Path, told: Told) -> RunInfo:
    """Run one cell. Raises ProcessFailed and the like when a process ends early or a sample does not come."""
    info = describe_cell(cell, directory, "live")
    traces = directory / TRACES
    traces.mkdir()
    with _started(cell, traces) as system:
        info.extra["ready_s"] = round(system.ready_s, 3)
        info.started_us = time.time_ns() // 1000
        info.save(directory)
        faults = LocalFaults(cell.faults, cell.seed, system.ring, system.stack)
        try:
            if cell.lookups:
                info.extra["failed"] = _look_up(cell, traces, faults, told)
            if cell.dissemination:
                info.extra["missing"] = _share(cell, directory, info, system, faults, told)
        finally:
            faults.close()
    faults.note(info)
    return info


def _look_up(cell: Cell, traces: Path, faults: LocalFaults, told: Told) -> int:
    if cell.nodes * cell.vnodes - 1 > cell.successors:  # a smaller ring needs no fingers
        time.sleep(FINGERS_S)
    with Lookups(cell.mode) as lookups:
        lookups.warm(faults.addresses())
        faults.begin()
        return lookups.ask(cell, traces, faults.addresses, faults.carry_out_due, told)


def _share(cell: Cell, directory: Path, info: RunInfo, system: _System, faults: LocalFaults, told: Told) -> int:
    """Have the clients share their samples; returns how many did not come. run.json says who subscribed to what."""
    via = system.ring.addresses()[:VIA]
    with Crew(cell, directory / TRACES, via) as crew:
        ids = crew.start_subscribers()
        info.subscribers = {
            each: SubscriberInfo(
                topics=[client.role.topic], from_start=True, label=f"{cell.dissemination} {client.role.topic}"
            )
            for each, client in zip(ids, crew.subscribers, strict=True)
        }
        info.save(directory)
        crew.start_publishers()
        faults.begin()

        def meanwhile() -> float | None:
            faults.carry_out_due()
            return faults.next_in_s

        return crew.share(meanwhile, told)


@contextmanager
def _started(cell: Cell, traces: Path) -> Iterator[_System]:
    """The ring of a cell, and with it ZooKeeper and brokers where samples go through these.

    They leave traces where events count: as a ring forms, and as parts of it fail.
    """
    events = traces if cell.faults or not (cell.lookups or cell.dissemination) else None
    options = ["--vnodes", str(cell.vnodes), "--successors", str(cell.successors)]
    began = time.monotonic()
    if cell.dissemination != "brokered":
        with LocalRing(events) as ring:
            ring.options += options
            ring.grow(cell.nodes)
            _settle(cell, ring)
            yield _System(ring, None, time.monotonic() - began)
        return
    with Scratch() as folder:
        stack = LocalStack(Path(folder), cell.nodes, cell.zones, cell.replicas, trace=events)
        stack.ring.options += options
        with stack:
            _settle(cell, stack.ring)
            yield _System(stack.ring, stack, time.monotonic() - began)


def _settle(cell: Cell, ring: LocalRing) -> None:
    wait_for_full_lists(ring, IDEAL_WITHIN_S, cell.vnodes, cell.successors)
