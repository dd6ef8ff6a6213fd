"""Where a cell may run, and which cells cannot run where. A place is imported when a cell runs there."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from chord.errors import LocalProtocolError
from experiments.sweep.cells import Cell, FaultKind, Place, PlaceRun
from experiments.sweep.limits import MOST_CLIENTS, MOST_NODES
from experiments.sweep.targets import missed

MODULES: Final[dict[Place, str]] = {
    "local": "experiments.sweep.local",
    "mininet": "experiments.mininet.place",
    "sim": "experiments.sweep.simulated",
    "static": "experiments.sweep.static",
}

MOST_PROCESSES = 256
BROKERS = "broker", "primary"
MOST_SIMULATED = 100_000


def place(name: Place) -> PlaceRun:
    """What runs cells there. Raises LocalProtocolError when something is missing that it needs."""
    try:
        module = import_module(MODULES[name])
    except ModuleNotFoundError as error:
        raise LocalProtocolError(f"cells on {name} need {error.name}, which is missing here") from None
    run: PlaceRun = module.run
    return run


def refusal(cell: Cell) -> str | None:
    """Why a cell cannot run at its place; None if it can."""
    if cell.figure:
        return None
    if not cell.lookups and not cell.dissemination and cell.place != "local":
        return "it asks for nothing: neither lookups nor a dissemination"
    if cell.place != "mininet" and (cell.topology or cell.bw_mbit or cell.delay_ms or cell.capture):
        return f"only mininet has a topology, link options and capture, {cell.place} has not"
    if cell.place != "sim" and cell.latency:
        return f"only sim has a latency model, {cell.place} has not"
    if cell.place != "static" and cell.rings:
        return f"only static deals its lookups out to several rings, {cell.place} does not"
    if cell.place in ("sim", "static") and cell.dissemination:
        return f"{cell.place} has no publishers and brokers, only lookups"
    kinds = {fault.kind for fault in cell.faults}
    if kinds & {"link_down", "link_up"} and cell.place != "mininet":
        return f"only mininet has links, {cell.place} has not"
    match cell.place:
        case "local":
            return _refused_locally(cell, kinds)
        case "sim":
            return missed(cell) or _outside(cell.nodes, MOST_SIMULATED) or _fewest(cell)
        case "static":
            return _refused_statically(cell)
    return _fewest(cell) or _refused_on_mininet(cell)


def _refused_locally(cell: Cell, kinds: set[FaultKind]) -> str | None:
    if kinds & {"split", "heal"}:
        return "processes of one machine cannot be split; take mininet or sim"
    if cell.faults and not cell.lookups and not cell.dissemination:
        return "faults come during lookups or during samples, and it asks for neither"
    if cell.faults and cell.lookups and cell.dissemination:
        return "faults come during lookups or during samples, not both; make two blocks of it"
    if cell.dissemination != "brokered" and any(fault.target.startswith(BROKERS) for fault in cell.faults):
        return "there are no brokers to fail without dissemination brokered"
    if cell.publishers + cell.subscribers > MOST_CLIENTS:
        return f"at most {MOST_CLIENTS} clients run on one machine, not {cell.publishers + cell.subscribers}"
    return missed(cell) or _outside(cell.nodes, MOST_PROCESSES) or _fewest(cell)


def _refused_on_mininet(cell: Cell) -> str | None:
    """What its own command line would say before it starts anything."""
    if (why := _outside(cell.nodes, MOST_PROCESSES)) is not None:
        return why
    from experiments.mininet.course import check_cell
    from experiments.mininet.shaping import Shape

    try:
        check_cell(cell, Shape(cell.bw_mbit, cell.delay_ms))
    except LocalProtocolError as error:
        return str(error)
    return None


def _refused_statically(cell: Cell) -> str | None:
    if cell.mode != "iterative":
        return "static rings know no recursive lookups; hops are the same"
    if any(fault.kind != "kill" or fault.at_s or not fault.target.startswith("share:") for fault in cell.faults):
        return "in static rings a share of the nodes has failed from the start (kill of share:P at_s 0), nothing else"
    if len(cell.faults) > 1:
        return "in static rings nodes fail once, from the start: one kill of a share"
    if cell.faults and cell.faults[0].share == 1.0:
        return "all nodes have failed (share:1), and nobody is left to ask"
    if cell.ring_count > cell.lookups:
        return f"{cell.lookups:,} lookups cannot be dealt out to {cell.ring_count:,} rings"
    return _outside(cell.nodes * cell.vnodes, MOST_NODES)


def _outside(nodes: int, most: int) -> str | None:
    return None if nodes <= most else f"at most {most:,} nodes run there, not {nodes:,}"


def _fewest(cell: Cell) -> str | None:
    return None if cell.successors else "a list has at least one entry there; successors 0 is for static"
