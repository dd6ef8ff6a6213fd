"""Cells in virtual time: a ring of the production code in the simulator, its lookups, and what is done to it."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from chord.errors import LocalProtocolError
from chord.lookup import Walk
from chord.outcome import Outcome
from chord.settings import Settings
from chord.trace import LookupTrace
from experiments.sweep import figure_cell
from experiments.sweep.cells import Cell, CellFailed, Fault, Told
from experiments.sweep.description import describe_cell
from experiments.sweep.names import names
from experiments.traces.run import RunInfo
from sim.cluster import Cluster
from sim.ideal import start_ideal
from sim.latency import Model, latency_of
from sim.network import Latency, Link
from sim.traces import Traces

JOINS_UP_TO = 256
"""Rings of more nodes are ideal from the start: that they form is seen in smaller ones."""

IDEAL_WITHIN_S = 300.0
ANSWERED_WITHIN_S = 60.0
RATE = 100.0
"""Lookups a virtual second, where the cell names no rate."""

VIA = 3
TELL_EVERY = 200
CLIENT = "sweep"


def run(cell: Cell, directory: Path, told: Told) -> RunInfo:
    """Run one cell. Times in its traces are virtual. Raises CellFailed when the ring does not become ideal."""
    if cell.figure:
        return figure_cell.run(cell, directory, told)
    info = describe_cell(cell, directory, "sim")
    info.started_us = 0
    latency = latency_of(_model(cell.latency), cell.seed)
    traces = Traces(directory)
    try:
        ring = _Ring(cell, latency, traces, told)
        info.extra |= {"virtual_ring_ready_s": ring.form(), **ring.look_up()}
    finally:
        traces.close(msgspec.to_builtins(info))
    info.faults = ring.faults
    info.kill_us = next((fault["at_us"] for fault in ring.faults if fault["kind"] == "kill"), None)
    return info


class _Ring:
    """The simulated ring of one cell."""

    def __init__(self, cell: Cell, latency: Latency, traces: Traces, told: Told) -> None:
        self.faults: list[dict[str, Any]] = []
        self._cell = cell
        self._traces = traces
        self._told = told
        self._answered = 0
        self._rng = random.Random(f"{cell.seed}/sweep")
        self._cluster = Cluster(
            cell.seed,
            Settings(successors=cell.successors),
            Link(latency),
            cell.vnodes,
            self._keep,
        )
        self._client = self._cluster.client(CLIENT)
        self._stopped: set[str] = set()
        self._all: list[str] = []

    def form(self) -> float | None:
        """Virtual seconds until the ring is ideal; None for one that was from the start."""
        cell, cluster = self._cell, self._cluster
        if cell.nodes > JOINS_UP_TO:
            start_ideal(cluster, cell.nodes)
            taken = None
        else:
            cluster.start_many(cell.nodes)
            taken = cluster.converge(IDEAL_WITHIN_S)
            if taken is None:
                raise CellFailed(f"{cell.nodes} nodes are no ideal ring after {IDEAL_WITHIN_S:.0f} virtual seconds")
            taken = round(taken, 3)
        self._all = list(cluster.nodes)
        return taken

    def look_up(self) -> dict[str, object]:
        """Ask for every name, and carry the faults out meanwhile; returns what is to be told of the lookups."""
        cell, cluster = self._cell, self._cluster
        asked: list[Outcome[Walk]] = []
        moment = cluster.now
        for fault in cell.faults:
            cluster.scheduler.at(moment + fault.at_s, partial(self._carry_out, fault))
        for number, name in zip(range(cell.lookups), names(cell.seed), strict=False):
            moment += self._rng.expovariate(cell.lookup_rate or RATE)
            cluster.scheduler.at(moment, partial(self._ask, number, name, asked))
        latest_s = moment - cluster.now + ANSWERED_WITHIN_S
        cluster.scheduler.run_until(lambda: self._answered == cell.lookups, latest_s)
        unanswered = cell.lookups - self._answered
        return {"lookups": cell.lookups, "unanswered": unanswered, "events": cluster.scheduler.happened}

    def _keep(self, row: msgspec.Struct) -> None:
        """Every event, but of the lookups only those of the client."""
        if not isinstance(row, LookupTrace) or row.origin == CLIENT:
            self._traces.append(row)

    def _ask(self, number: int, name: str, asked: list[Outcome[Walk]]) -> None:
        """Through each node in turn that lives, as far as the client knows; with faults it knows of some more."""
        living = list(self._cluster.nodes)
        first = number % len(living)
        via = [living[(first + step) % len(living)] for step in range(VIA if self._cell.faults else 1)]
        ring = self._client.ring(via, recursive=self._cell.mode == "recursive")
        outcome = self._client.process.start(ring.locate(name))
        asked.append(outcome)
        outcome.when_done(self._has_answered)

    def _has_answered(self, _walk: Walk | None, _error: Exception | None) -> None:
        self._answered += 1
        if self._answered % TELL_EVERY == 0:
            self._told(self._answered, self._cell.lookups)

    # Faults --------------------------------------------------------------------------------------------------------

    def _carry_out(self, fault: Fault) -> None:
        cluster = self._cluster
        if fault.kind == "split":
            everybody = [*self._all, self._client.kernel.address]
            left = frozenset(self._rng.sample(self._all, round(fault.share * len(self._all))))
            cluster.network.split(left, frozenset(everybody) - left)
            hit = [fault.target]
        elif fault.kind == "heal":
            cluster.network.mend()
            hit = [""]
        else:
            hit = self._targets(fault)
            for address in hit:
                self._hit(fault.kind, address)
        at_us = round(cluster.now * 1e6)
        self.faults += [{"kind": fault.kind, "at_us": at_us, "target": target} for target in hit]

    def _hit(self, kind: str, address: str) -> None:
        if kind == "kill":
            self._stopped.discard(address)
            self._cluster.crash(address)
        elif kind == "stop":
            self._stopped.add(address)
            self._cluster.nodes[address].process.pause()
        else:
            self._stopped.discard(address)
            self._cluster.nodes[address].process.resume()

    def _targets(self, fault: Fault) -> list[str]:
        """The addresses that a fault hits; at least one node stays."""
        living = list(self._cluster.nodes)
        what, _, which = fault.target.partition(":")
        if fault.kind == "cont" and which == "*":
            return sorted(self._stopped)
        if what == "share":
            found = self._rng.sample(living, min(len(living) - 1, round(fault.share * len(living))))
        elif what == "node" and which == "*":
            found = [self._rng.choice(living)]
        elif what == "node" and which.isdigit() and int(which) < len(self._all):
            found = [address for address in [self._all[int(which)]] if address in living]
        else:
            raise LocalProtocolError(f"a fault of a simulated ring has no target {fault.target!r}")
        return found if fault.kind != "kill" else found[: len(living) - 1]


def _model(name: str | None) -> Model:
    try:
        return Model(name or Model.uniform)
    except ValueError:
        raise LocalProtocolError(f"latency is one of {', '.join(Model)}, not {name!r}") from None
