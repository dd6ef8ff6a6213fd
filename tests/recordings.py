"""Recordings for tests: of a simulated ring process, and how to take a file apart and put it together again."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import msgspec

from chord import wire
from chord.host import Host
from chord.recorded import AnyEvent, Recorded
from chord.recording import RecordedKernel, Recording, described
from sim.cluster import BOOT_PATIENCE_S, Cluster, Node
from sim.process import Process
from tests.spools import read_rows


def start_recorded(cluster: Cluster, address: str, bootstrap: list[str], path: Path, vnodes: int = 1) -> Recording:
    """Start a process in a simulated cluster whose kernel is recorded just as that of a real node."""
    seed = cluster.rng("recorded").getrandbits(64)
    host = Host(cluster.settings, address, vnodes, random.Random(seed))
    recording = Recording(path, described(cluster.settings, address, vnodes, seed))
    kernel = RecordedKernel(host.kernel, recording.append)
    kernel.epoch_offset_s = 1_700_000_000.0
    process = Process(cluster.scheduler, cluster.network, kernel, lambda _row: None)  # type: ignore[arg-type]  # a Driven with an address
    cluster.nodes[address] = Node(host, process, process.start(host.boot(bootstrap, BOOT_PATIENCE_S)))
    return recording


def taken_apart(path: Path) -> tuple[Recorded, list[AnyEvent]]:
    """The rows of a recording."""
    first, *events = read_rows(path)
    return msgspec.convert(first, Recorded), [msgspec.convert(event, AnyEvent) for event in events]


def put_together(path: Path, first: Recorded, events: Sequence[AnyEvent]) -> Path:
    """A recording of these rows."""
    path.write_bytes(b"".join(map(wire.encode, [first, *events])))
    return path
