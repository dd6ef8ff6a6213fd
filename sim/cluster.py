"""A simulated cluster: ring processes and outside clients on one network, from one seed."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import msgspec

from chord.asking import Ring
from chord.effects import Operation
from chord.errors import RingcastError
from chord.host import Host
from chord.kernel import Kernel
from chord.lookup import Walk
from chord.member import Member
from chord.outcome import Outcome
from chord.settings import Settings
from sim import checks
from sim.network import Link, Network, uniform
from sim.process import Process
from sim.scheduler import Scheduler

R = TypeVar("R")

BOOT_PATIENCE_S = 30.0
CHECK_EVERY_S = 0.1
CLOCKS_BEGAN_S = 1000.0
"""So long ago at most the clock of a process began."""

DEFAULT_LINK = Link(uniform(0.001, 0.020))


def address_of(number: int) -> str:
    """The address of node `number`, which starts at 0."""
    return f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}:5000"


@dataclass(slots=True)
class Node:
    """A running ring process: its members, and how its joining went."""

    host: Host
    process: Process
    booted: Outcome[None]
    leaving: bool = False


class Cluster:
    """Everything of one run. `keep` receives each trace row; without it they are collected in `rows`.

    `nodes` are the running ring processes by address, in the order of their start; `refused` are those that ended
    because they could not join, with the reason. `comings` counts the processes that were started or ended. With a
    `drift` each process has a clock of its own, which began at any time and is fast or slow by up to that part.
    """

    def __init__(
        self,
        seed: int,
        settings: Settings | None = None,
        link: Link = DEFAULT_LINK,
        vnodes: int = 1,
        keep: Callable[[msgspec.Struct], None] | None = None,
        drift: float = 0.0,
    ) -> None:
        self.seed = seed
        self.settings = settings or Settings()
        self.scheduler = Scheduler()
        self.network = Network(self.scheduler, self.rng("network"), link)
        self.rows: list[msgspec.Struct] = []
        self.nodes: dict[str, Node] = {}
        self.refused: dict[str, RingcastError] = {}
        self._keep = keep or self.rows.append
        self._vnodes = vnodes
        self._drift = drift
        self._lives = 0
        self.comings = 0

    def rng(self, purpose: str) -> random.Random:
        """A source of chance of its own for each purpose, so that one draws nothing from another."""
        return random.Random(f"{self.seed}/{purpose}")

    @property
    def now(self) -> float:
        """Virtual seconds since the run began."""
        return self.scheduler.now

    # Nodes ---------------------------------------------------------------------------------------------------------

    def start(self, address: str, bootstrap: list[str]) -> Node:
        """Start a ring process, which joins through `bootstrap` or, when that is empty, starts a ring."""
        node = self.place(address)
        node.booted = node.process.start(node.host.boot(bootstrap, BOOT_PATIENCE_S))
        node.booted.when_done(partial(self._booted, address, node))
        return node

    def place(self, address: str) -> Node:
        """Put a ring process on the network, and leave to the caller what it does there."""
        assert address not in self.nodes, f"{address} runs already"
        self._lives += 1
        self.comings += 1
        life = f"{address}/{self._lives}"
        host = Host(self.settings, address, self._vnodes, self.rng(life))
        rate, offset_s = self._clock_of(life)
        process = Process(self.scheduler, self.network, host.kernel, self._keep, rate, offset_s)
        node = self.nodes[address] = Node(host, process, Outcome())
        return node

    def _clock_of(self, life: str) -> tuple[float, float]:
        """Rate and offset of the clock of a process."""
        if not self._drift:
            return 1.0, 0.0
        rng = self.rng(f"{life}/clock")
        return 1.0 + rng.uniform(-self._drift, self._drift), rng.uniform(0.0, CLOCKS_BEGAN_S)

    def _booted(self, address: str, node: Node, _result: None, error: RingcastError | None) -> None:
        """A process that could not join ends, as `dht join` does."""
        if error is not None and self.nodes.get(address) is node:
            self.crash(address)
            self.refused[address] = error

    def start_many(self, count: int) -> list[Node]:
        """Start `count` processes at once: one that starts the ring, and the others through it."""
        addresses = [address_of(number) for number in range(count)]
        return [self.start(address, addresses[:1] if number else []) for number, address in enumerate(addresses)]

    def crash(self, address: str) -> None:
        """End a process without a word."""
        self.comings += 1
        self.nodes.pop(address).process.crash()

    def restart(self, address: str, bootstrap: list[str]) -> Node:
        """Crash a process if it runs, and start another one under its address."""
        if address in self.nodes:
            self.crash(address)
        return self.start(address, bootstrap)

    def leave(self, address: str, at_most_s: float = 3.0) -> None:
        """Have a process leave gracefully; it ends when it has handed over, or when the time is over."""
        node = self.start_leaving(address, at_most_s)
        self.scheduler.run_until(lambda: self.nodes.get(address) is not node, at_most_s + 1.0)

    def start_leaving(self, address: str, at_most_s: float) -> Node:
        """The same without waiting for its end."""
        node = self.nodes[address]
        node.leaving = True
        node.process.start(node.host.leave()).when_done(partial(self._left, address, node))
        self.scheduler.after(at_most_s, partial(self._left, address, node, "", None))
        return node

    def _left(self, address: str, node: Node, _lost: str | None, _error: RingcastError | None) -> None:
        if self.nodes.get(address) is node:
            self.crash(address)

    # The ring as it is ---------------------------------------------------------------------------------------------

    def members(self) -> list[Member]:
        """The members of every running process, those that are still joining included."""
        return [member for node in self.nodes.values() for member in node.host.members]

    def faults(self) -> list[str]:
        """What keeps this ring from being ideal; empty when it is."""
        return checks.ideal_ring(self.members())

    def converge(self, at_most_s: float) -> float | None:
        """Run until the ring is ideal and every process has booted; the time that took, or None."""
        began_at = self.now
        done = self.scheduler.poll_until(self.has_converged, at_most_s, CHECK_EVERY_S)
        return self.now - began_at if done else None

    def has_converged(self) -> bool:
        """Whether every process has booted and the ring is ideal."""
        return all(node.booted.done for node in self.nodes.values()) and not self.faults()

    # Asking --------------------------------------------------------------------------------------------------------

    def client(self, label: str = "client") -> Client:
        """A process outside the ring."""
        return Client(self, label)

    def new_process(self, kernel: Kernel) -> Process:
        """Put another kernel on the network."""
        return Process(self.scheduler, self.network, kernel, self._keep)


class Client:
    """Asks the ring from outside it, as `dht lookup` does."""

    def __init__(self, cluster: Cluster, label: str) -> None:
        self._cluster = cluster
        self.kernel = Kernel(cluster.settings.cluster, label, cluster.rng(label))
        self.process = cluster.new_process(self.kernel)

    def ring(self, via: list[str], patience_s: float = 5.0, recursive: bool = False) -> Ring:
        """The ring through some of its nodes."""
        answer_at = self.kernel.address if recursive else ""
        return Ring(self.kernel, via, self._cluster.settings.space, patience_s, answer_at=answer_at)

    def ask(self, operation: Operation[R], at_most_s: float = 30.0) -> R:
        """Run until an operation has ended, and return its result or raise its error."""
        outcome = self.process.start(operation)
        ended = self._cluster.scheduler.run_until(lambda: outcome.done, at_most_s)
        assert ended, f"no outcome within {at_most_s} s of virtual time (seed {self._cluster.seed})"
        return outcome.value()

    def locate(self, name: str, via: str, recursive: bool = False) -> Walk:
        """Look a name up through one node."""
        return self.ask(self.ring([via], recursive=recursive).locate(name))
