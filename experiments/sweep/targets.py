"""What faults may hit: how a target is written, and which of them there are in a cell."""

from __future__ import annotations

import re

from chord.errors import LocalProtocolError
from experiments.sweep.cells import Cell, Fault

_PROCESS = r"(?:node|broker|publisher|subscriber):[0-9]{1,6}|node:\*|host:h?[0-9]{1,6}|zookeeper|primary"
_PROCESSES = re.compile(_PROCESS)
_LINKS = re.compile(rf"link:[sh][0-9]{{1,6}}-[sh][0-9]{{1,6}}|{_PROCESS}")


def expected(fault: Fault) -> str | None:
    """What a target of this kind looks like, if that of the fault looks like none; None if it does."""
    target = fault.target
    match fault.kind:
        case "heal":
            return None
        case "split":
            good = not target or 0.0 < _share(fault) < 1.0
            return None if good else "a share of the nodes between 0 and 1, like 0.4"
        case "link_down" | "link_up":
            return None if _LINKS.fullmatch(target) else "a link or a host, like link:s1-h3 or host:3"
    good = _share(fault) >= 0.0 if target.startswith("share:") else _PROCESSES.fullmatch(target) is not None
    return None if good else "who is hit, like node:3, node:*, broker:1, primary, host:3, or share:0.3 from 0 to 1"


def missed(cell: Cell) -> str | None:
    """Why a fault hits nothing in a local or simulated cell; None if each hits something."""
    for fault in cell.faults:
        what, _, which = fault.target.partition(":")
        if fault.kind == "split":
            if not fault.target:
                return "a split names the share of the nodes on one side, like 0.4"
        elif what in ("host", "link", "publisher", "subscriber", "zookeeper"):
            return f"only mininet has faults of {fault.target}, {cell.place} has not"
        elif what in ("broker", "primary") and cell.place == "sim":
            return f"sim has no brokers, and {fault.kind} is of {fault.target}"
        elif which.isdecimal():
            count = cell.nodes if what == "node" else cell.zones * cell.replicas
            if int(which) >= count:
                return f"{fault.kind} is of {fault.target}, and there are {what}:0 to {what}:{count - 1}"
    killed = {fault.target for fault in cell.faults if fault.kind == "kill" and fault.target != "node:*"}
    if sum(target.startswith("node:") for target in killed) >= cell.nodes:
        return f"all {cell.nodes} nodes are killed, and nobody is left to ask"
    return None


def _share(fault: Fault) -> float:
    """The share that a target names, -1 if it names none."""
    try:
        return fault.share
    except LocalProtocolError:
        return -1.0
