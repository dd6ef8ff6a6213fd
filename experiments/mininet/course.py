"""The course of one cell inside its own namespaces: network, processes, work, faults, and what run.json says of it."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

from broker.processes import ProcessFailed
from chord.errors import LocalProtocolError
from chord.sockets import raise_descriptor_limit
from experiments.capture.sniffing import Sniffing
from experiments.capture.tokens import LEAST_BYTES
from experiments.mininet import census
from experiments.mininet.faults import Faults
from experiments.mininet.layout import address, lay_out
from experiments.mininet.network import Network
from experiments.mininet.seats import Seats, seat
from experiments.mininet.shaping import Shape, check_shape
from experiments.mininet.stage import FIRST_ZONE, Stage
from experiments.mininet.targets import PRIMARY, hits
from experiments.mininet.workload import Workload
from experiments.sweep.cells import Cell
from experiments.sweep.description import describe_cell
from experiments.traces.run import TRACES, RunInfo

Say = Callable[[str, int, int], None]
"""What is going on, and how much of it is done, of how much."""

READY_S = 300.0
LATE_S = 15.0
"""How long nothing may come before a subscriber is taken to have all that it will get."""

POLL_S = 0.02
DEFAULT_TOPOLOGY = "single"


def check_cell(cell: Cell, shape: Shape) -> None:
    """Raises LocalProtocolError for a cell that could not be played, before anything is started."""
    check_shape(shape)
    seats = seat(cell)
    hits(cell, seats, lay_out(cell.topology or DEFAULT_TOPOLOGY, seats.count))
    if cell.capture and cell.payload_bytes < LEAST_BYTES:
        raise LocalProtocolError(f"a capture knows samples of {LEAST_BYTES} bytes or more, not {cell.payload_bytes}")
    last_s = max((fault.at_s for fault in cell.faults), default=0.0)
    if cell.dissemination is not None and not cell.lookups and last_s and cell.rate:
        lasts_s = cell.samples / cell.rate
        if last_s >= lasts_s:
            raise LocalProtocolError(
                f"the last fault comes after {last_s:g} s, when {cell.samples} samples at {cell.rate:g} a second have "
                f"ended ({lasts_s:g} s); have more samples, or the fault earlier"
            )


def play(cell: Cell, directory: Path, shape: Shape, say: Say) -> RunInfo:
    """Play a cell, leave its traces in `directory`, and describe it. Raises RingcastError."""
    raise_descriptor_limit()
    seats = seat(cell)
    layout = lay_out(cell.topology or DEFAULT_TOPOLOGY, seats.count)
    traces = (directory / TRACES).resolve()
    info = describe_cell(cell, directory, "mininet")
    with ExitStack() as closing:
        folder = Path(closing.enter_context(tempfile.TemporaryDirectory(prefix="ringcast-")))
        say("network", 0, seats.count)
        network = Network(layout, shape)
        traces.mkdir(parents=True, exist_ok=True)
        stage = closing.enter_context(Stage(cell, seats, network, traces, folder))
        faults = Faults(hits(cell, seats, layout), network, stage)
        work = Workload(cell, seats, network, stage, str(traces))
        closing.callback(work.close)
        stage.start(lambda done, total: say("ring", done, total))
        course = _Course(work, faults, say)
        work.start_subscribers()
        course.wait("subscribers", READY_S, lambda: all("ready" in each.heard for each in work.subscribers))
        work.start_others()
        course.wait("clients", READY_S, work.connected)
        if cell.capture:
            sniffing = closing.enter_context(Sniffing(directory.resolve()))
            for host in (*seats.publishers, *seats.subscribers):
                with network.inside(host):
                    sniffing.start(host)
            sniffing.wait_ready()
        counted = census.take(os.environ.get(census.MARK, ""))
        info.subscribers = work.subscriber_infos() or None
        faults.begin()
        begun_us = time.time_ns() // 1000
        work.begin()
        course.run()
        if not faults.over:
            raise ProcessFailed("the work ended before the last fault was due; make it longer, or the fault earlier")
        if not cell.faults and (missing := work.missing()):
            raise ProcessFailed(missing)
        info.faults = faults.done
        _tell_kills(info, seats)
        info.extra |= {
            "topology": cell.topology or DEFAULT_TOPOLOGY,
            "shape": shape.options(),
            "hosts": {host: {"role": role, "address": address(host)} for host, role in seats.roles().items()},
            "publisher_ids": work.publisher_ids(),
            "subscriber_hosts": work.subscriber_hosts(),
            "ring_formed_s": stage.formed_s,
            "begun_us": begun_us,
            "expected": sum(map(work.expected, range(len(work.subscribers)))),
            "counted": counted,
        }
    return info


def _tell_kills(info: RunInfo, seats: Seats) -> None:
    """Say in run.json when the first node was killed, and the first primary of the first zone."""
    for fault in info.faults or []:
        if fault["kind"] != "kill":
            continue
        if fault["host"] in seats.nodes and info.kill_us is None:
            info.kill_us = fault["at_us"]
        if fault["target"] == PRIMARY and info.primary_kill_us is None:
            info.primary_kill_us, info.killed_zone = fault["at_us"], FIRST_ZONE


class _Course:
    """Waits for the work, doing faults when they are due."""

    def __init__(self, work: Workload, faults: Faults, say: Say) -> None:
        self._work, self._faults, self._say = work, faults, say

    def wait(self, what: str, within_s: float, done: Callable[[], bool]) -> None:
        """Wait until it holds. Raises ProcessFailed."""
        deadline = time.monotonic() + within_s
        while not done():
            self._work.check(self._faults.killed)
            if time.monotonic() > deadline:
                raise ProcessFailed(f"the {what} were not ready within {within_s:.0f} s")
            time.sleep(POLL_S)

    def run(self) -> None:
        """Until the asker has asked everything, and the subscribers have everything, or nothing more comes."""
        told_enough = False
        grew_at, before = time.monotonic(), -1
        while not self._over():
            self._faults.play_due()
            self._work.check(self._faults.killed)
            done, total = self._work.progress()
            self._say("work", done, total)
            if done != before:
                grew_at, before = time.monotonic(), done
            idle = self._sources_over() and time.monotonic() - grew_at > LATE_S
            if idle and not told_enough:
                told_enough = True
                self._work.enough()
                grew_at = time.monotonic()
            elif idle:
                raise ProcessFailed(self._stuck())
            time.sleep(POLL_S)
        with suppress(ProcessFailed):
            self._work.check(self._faults.killed)
        self._say("work", *self._work.progress())

    def _over(self) -> bool:
        return all(actor.ended for actor in self._work.actors)

    def _sources_over(self) -> bool:
        return all(actor.ended for actor in self._work.askers + self._work.publishers)

    def _stuck(self) -> str:
        names = ", ".join(f"{actor.name} on {actor.host}" for actor in self._work.actors if not actor.ended)
        return f"{names} did not end"
