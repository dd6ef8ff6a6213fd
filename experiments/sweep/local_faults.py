"""Faults of a cell on processes of this machine: kill -9, SIGSTOP and SIGCONT of ring nodes and brokers, when due."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Sequence
from typing import Any

from broker.launched import Launched
from broker.local_ring import LocalRing
from broker.local_zones import LocalBroker
from broker.stack import LocalStack
from chord.client import RingClient
from chord.errors import LocalProtocolError
from experiments.sweep.cells import Fault
from experiments.traces.run import RunInfo
from pubsub.zones import list_zones

FIRST_ZONE = "zone-1"
SIGNALS = {"stop": signal.SIGSTOP, "cont": signal.SIGCONT}


class LocalFaults:
    """The faults of one cell, and what was done so far in `done`, as run.json has it."""

    def __init__(self, faults: Sequence[Fault], seed: int, ring: LocalRing, stack: LocalStack | None = None) -> None:
        self.done: list[dict[str, Any]] = []
        self._waiting = list(faults)
        self._rng = random.Random(f"{seed}/faults")
        self._ring = ring
        self._stack = stack
        self._nodes = list(ring.nodes)
        self._brokers = list(stack.brokers) if stack is not None else []
        self._dead: list[Launched] = []
        self._stopped: list[Launched] = []
        self._began = time.monotonic()

    def begin(self) -> None:
        """The workload begins now."""
        self._began = time.monotonic()

    @property
    def next_in_s(self) -> float | None:
        """Seconds until the next one is due, 0 if it is overdue; None when none is left."""
        if not self._waiting:
            return None
        return max(0.0, self._began + self._waiting[0].at_s - time.monotonic())

    @property
    def left(self) -> bool:
        """Whether any is still to come."""
        return bool(self._waiting)

    def carry_out_due(self) -> None:
        """Do what is due. Raises LocalProtocolError for a target that there is not."""
        while self._waiting and self.next_in_s == 0.0:
            self._carry_out(self._waiting.pop(0))

    def addresses(self) -> list[str]:
        """The nodes that were not killed."""
        return [node.address for node in self._nodes if node not in self._dead]

    def note(self, info: RunInfo) -> None:
        """Write what was done into run.json's content."""
        info.faults = self.done
        kills = [each for each in self.done if each["kind"] == "kill"]
        info.kill_us = next((each["at_us"] for each in kills if each["what"] == "node"), None)
        primary = next((each for each in kills if each["what"] == "primary"), None)
        if primary is not None:
            info.primary_kill_us, info.killed_zone = primary["at_us"], primary["zone"]

    def close(self) -> None:
        """Wake those that are stopped, so that they can be ended like the others."""
        for each in self._stopped:
            each.process.send_signal(signal.SIGCONT)

    def _carry_out(self, fault: Fault) -> None:
        for hit in self._targets(fault):
            at_us = time.time_ns() // 1000
            if fault.kind == "kill":
                hit.process.kill()
                hit.process.wait()
                self._dead.append(hit)
            else:
                hit.process.send_signal(SIGNALS[fault.kind])
            if fault.kind == "stop":
                self._stopped.append(hit)
            elif hit in self._stopped:
                self._stopped.remove(hit)
            self.done.append({"kind": fault.kind, "at_us": at_us, **self._described(fault, hit)})

    def _described(self, fault: Fault, hit: Launched) -> dict[str, Any]:
        what = fault.target.partition(":")[0]
        said: dict[str, Any] = {"target": hit.address, "what": "node" if what == "share" else what}
        if isinstance(hit, LocalBroker):
            said["zone"] = hit.zone
        return said

    def _targets(self, fault: Fault) -> Sequence[Launched]:
        what, _, which = fault.target.partition(":")
        if fault.kind == "cont" and which == "*":
            return list(self._stopped)
        if what == "primary":
            return [self._primary()]
        living: list[Launched] = [node for node in self._nodes if node not in self._dead]
        if what == "share":
            return self._rng.sample(living, min(len(living) - 1, round(fault.share * len(living))))
        if what == "node" and which == "*":
            return [self._rng.choice(living)] if len(living) > 1 or fault.kind != "kill" else []
        kinds: dict[str, Sequence[Launched]] = {"node": self._nodes, "broker": self._brokers}
        among = kinds.get(what, [])
        if not which.isdigit() or int(which) >= len(among):
            raise LocalProtocolError(
                f"a fault hits {fault.target!r}, which there is not: {len(among)} of that kind run"
            )
        return [each for each in [among[int(which)]] if each not in self._dead]

    def _primary(self) -> LocalBroker:
        """That of the first zone, as the ring names it."""
        with RingClient(self.addresses()[:3]) as client:
            address = client.run(list_zones)[FIRST_ZONE].primary.address
        return next(broker for broker in self._brokers if broker.address == address)
