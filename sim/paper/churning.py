"""A ring whose members come and go at random, as the papers have it: shared by the figures under churn."""

from __future__ import annotations

import random
from collections.abc import Callable

import msgspec

from chord.settings import Settings
from sim.cluster import Cluster, Node, address_of
from sim.ideal import start_ideal
from sim.network import Endpoint, Latency, Link, Mailbox, Network
from sim.paper.owners import Owners
from sim.paper.traced import Traced
from sim.scheduler import Scheduler

LEAVE_WITHIN_S = 10.0
"""After so long a process ends that has not finished leaving."""

MEAN_LATENCY_S = 0.050
"""Of a frame: ToN 2003, section V."""


def exponential(mean_s: float) -> Latency:
    """Every frame draws its own time, exponentially distributed, as in the simulator of the papers."""
    per_s = 1.0 / mean_s
    return lambda rng, _source, _target: rng.expovariate(per_s)


class Metered(Network):
    """A network that counts the bytes of the frames sent; not what TCP and ZeroMQ put around them."""

    def __init__(self, scheduler: Scheduler, rng: random.Random, default: Link) -> None:
        super().__init__(scheduler, rng, default)
        self.bytes = 0

    def _send(self, source: str, target: str, mailbox: Mailbox, route: Endpoint | None, frame: bytes) -> None:
        self.bytes += len(frame)
        super()._send(source, target, mailbox, route, frame)


class Churning(Cluster):
    """A ring that is ideal at first. From then on processes join through a random one, and random ones depart.

    Both are Poisson processes of `per_s` a second each. So each process lives for a time that is exponentially
    distributed, `nodes / per_s` on average. Whoever departs leaves gracefully, or with `crash` without a word.
    """

    def __init__(
        self,
        seed: int,
        settings: Settings,
        latency: Latency,
        nodes: int,
        per_s: float,
        crash: bool,
        vnodes: int = 1,
        traced: Traced | None = None,
    ) -> None:
        super().__init__(seed, settings, Link(latency), vnodes, keep=self._heard)
        self.network: Metered = Metered(self.scheduler, self.rng("network"), Link(latency))
        self.owners = Owners(self)
        self.traced = traced or Traced()
        self.joined = self.departed = 0
        self._per_s = per_s
        self._crash = crash
        self._joins, self._departures = self.rng("joins"), self.rng("departures")
        self._addresses = [node.host.kernel.address for node in start_ideal(self, nodes)]
        self._next = nodes
        self.owners.begin()
        self._later(self._joins, self._join)
        self._later(self._departures, self._depart)

    def settled(self, rng: random.Random) -> Node:
        """A random process that has joined and does not leave."""
        addresses = self._addresses
        while True:
            at = rng.randrange(len(addresses))
            node = self.nodes.get(addresses[at])
            if node is None:
                addresses[at] = addresses[-1]
                addresses.pop()
            elif node.booted.done and not node.leaving:
                return node

    def crash(self, address: str) -> None:
        """A process ends, whatever the reason: others own its keys."""
        super().crash(address)
        self.owners.changed()

    def _join(self) -> None:
        address = address_of(self._next)
        self._next += 1
        self.joined += 1
        self.start(address, [self.settled(self._joins).host.kernel.address])
        self._addresses.append(address)
        self._later(self._joins, self._join)

    def _depart(self) -> None:
        address = self.settled(self._departures).host.kernel.address
        self.departed += 1
        if self._crash:
            self.crash(address)
        else:
            self.start_leaving(address, LEAVE_WITHIN_S)
        self._later(self._departures, self._depart)

    def _later(self, rng: random.Random, action: Callable[[], None]) -> None:
        """After a pause of a Poisson process."""
        self.scheduler.after(rng.expovariate(self._per_s), action)

    def _heard(self, row: msgspec.Struct) -> None:
        self.owners.heard(row)
        self.traced.left(row, self.settings)
