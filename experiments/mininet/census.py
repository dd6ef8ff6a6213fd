"""What there is of virtual networks on this machine: processes, network namespaces, bridges and virtual links, counted.

Everything that a run starts carries a mark in its environment, so that what belongs to it is told from what does not.
"""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from experiments.rings.namespaces import entered

MARK = "RINGCAST_MININET"
"""Names a run, in the environment of all its processes."""

GONE_WITHIN_S = 10.0
POLL_S = 0.05


class Census(msgspec.Struct, frozen=True):
    """`processes` of runs; the network `namespaces` that processes are in, and the bridges and veth ends in those."""

    processes: int
    namespaces: int
    bridges: int
    veth_ends: int


def take(mark: str | None = None) -> Census:
    """Count what belongs to a run; without a mark, the processes of all runs and every network of this machine."""
    marked = [pid for pid in _pids() if _is_marked(pid, mark)]
    spaces: dict[int, int] = {}
    for pid in marked if mark is not None else _pids():
        with suppress(OSError):
            spaces.setdefault(os.stat(f"/proc/{pid}/ns/net").st_ino, pid)
    bridges = veth_ends = 0
    for pid in spaces.values():
        bridges += _links(pid, "bridge")
        veth_ends += _links(pid, "veth")
    return Census(len(marked), len(spaces), bridges, veth_ends)


def wait_gone(mark: str) -> int:
    """Wait until no process of a run is left; returns how many are when that takes too long."""
    deadline = time.monotonic() + GONE_WITHIN_S
    while (count := _count(mark)) and time.monotonic() < deadline:
        time.sleep(POLL_S)
    return count


def _count(mark: str) -> int:
    return sum(_is_marked(pid, mark) for pid in _pids())


def _pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def _is_marked(pid: int, mark: str | None) -> bool:
    wanted = f"{MARK}={mark}\0" if mark is not None else f"{MARK}="
    try:
        return f"\0{wanted}".encode() in b"\0" + Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


def _links(pid: int, kind: str) -> int:
    """How many network devices of a kind there are in the namespace of a process."""
    try:
        with entered(f"/proc/{pid}/ns/net"):
            done = subprocess.run(["ip", "-o", "link", "show", "type", kind], capture_output=True, check=False)
    except OSError:
        return 0
    return done.stdout.count(b"\n")
