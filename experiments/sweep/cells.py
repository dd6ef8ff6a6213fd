"""One cell of a sweep: everything that a place is told to do, and what is done to it meanwhile."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from chord.errors import LocalProtocolError, RingcastError
from experiments.traces.run import RunInfo

Place = Literal["local", "mininet", "sim", "static"]
Mode = Literal["iterative", "recursive"]
Dissemination = Literal["direct", "brokered"]
FaultKind = Literal["kill", "stop", "cont", "link_down", "link_up", "split", "heal"]

SUCCESSORS = 8
PAYLOAD_BYTES = 100

LOOKUPS_A_RING = 1 << 22
"""Of static cells, in rings of at most as many members; larger ones have as many lookups as members."""


class CellFailed(RingcastError):
    """A cell did not come to its end. The text says why."""


Told = Callable[[int, int], None]
"""How much of a cell is done, of how much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing done to a running cell, `at_s` seconds after its workload begins.

    `target` names who is hit: `node:3`, `broker:1` (counted from 0), `node:*` for one that lives, drawn from the seed,
    `share:0.3` for that share of the nodes at one moment, `primary` (of the first zone); `host:3` or `link:s1-h3` on
    Mininet; a `split` names the share of nodes on one side, like `0.5`, and a `heal` nothing. A `cont` of
    `node:*` wakes all that were stopped.
    """

    kind: FaultKind
    at_s: float
    target: str = ""

    @property
    def share(self) -> float:
        """The share in a target like `share:0.3`, or `0.3` alone. Raises LocalProtocolError for what is none."""
        try:
            share = float(self.target.removeprefix("share:"))
        except ValueError:
            share = -1.0
        if not 0.0 <= share <= 1.0:
            raise LocalProtocolError(
                f"a share of the nodes is a number from 0 to 1, like share:0.3; not {self.target!r}"
            )
        return share


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What one cell is: its place, its ring, its clients, its faults, its seed.

    With `lookups` the ring is asked that many random names, `lookup_rate` a second or one right after the other; with
    `dissemination` each of `publishers` sends `samples` samples of `payload_bytes`, `rate` a second, to all subscribers
    of its topic. Both may be asked of one cell. Publishers and subscribers are dealt out to `topics` in turn, which
    are as many as the fewer of the two when that is None: so pairs when they are equally many.

    A static cell deals its lookups out to so many `rings`, `ring_count` of them when that is None. Of a simulated one,
    `latency` is one of sim/latency.py, and `figure` one of `python -m sim paper`, which is drawn instead of a ring of
    its own; `quick` is its small form. `fault_plan` is what the plan calls the `faults`. `repeat` counts from 1.
    """

    name: str
    place: Place
    nodes: int
    vnodes: int = 1
    successors: int = SUCCESSORS
    mode: Mode = "iterative"
    dissemination: Dissemination | None = None
    publishers: int = 0
    subscribers: int = 0
    lookups: int = 0
    payload_bytes: int = PAYLOAD_BYTES
    samples: int = 100
    rate: float = 20.0
    topology: str | None = None
    bw_mbit: float | None = None
    delay_ms: float | None = None
    capture: bool = False
    faults: tuple[Fault, ...] = ()
    seed: int = 1
    repeat: int = 1
    zones: int = 2
    replicas: int = 3
    figure: str | None = None
    quick: bool = False
    topics: int | None = None
    lookup_rate: float | None = None
    latency: str | None = None
    fault_plan: str | None = None
    rings: int | None = None

    @property
    def ring_count(self) -> int:
        """Of a static cell: among how many rings its lookups are dealt out."""
        return self.rings or max(1, math.ceil(self.lookups / max(LOOKUPS_A_RING, self.nodes * self.vnodes)))

    @property
    def topic_count(self) -> int:
        """How many topics the clients are dealt out to."""
        return self.topics or max(1, min(self.publishers, self.subscribers))

    def topic(self, number: int) -> str:
        """That of publisher, or subscriber, `number`, counted from 0."""
        return f"sweep/{number % self.topic_count + 1}"

    def publishers_of(self, topic: str) -> int:
        """How many publish it."""
        return sum(self.topic(number) == topic for number in range(self.publishers))

    def subscribers_of(self, topic: str) -> int:
        """How many subscribe to it."""
        return sum(self.topic(number) == topic for number in range(self.subscribers))

    @property
    def workload_s(self) -> float | None:
        """How long the workload takes at its rates, at least; None where nobody knows."""
        if self.lookups and self.lookup_rate is None:
            return None
        asking = self.lookups / self.lookup_rate if self.lookup_rate else 0.0
        return asking + (self.samples / self.rate if self.dissemination else 0.0)


class PlaceRun(Protocol):
    """Run one cell, leave its traces in `directory`, and say what it was.

    The sweep adds plan, cell, machine and `finished_us` to what is returned, and saves it. Raises RingcastError with
    the reason when the cell fails; whatever it started has ended when it returns or raises.
    """

    def __call__(self, cell: Cell, directory: Path, told: Told) -> RunInfo: ...
