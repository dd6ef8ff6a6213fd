"""The local stack: a ring, a ZooKeeper and the brokers of some zones, all of them processes of this machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from subprocess import Popen
from types import TracebackType
from typing import NamedTuple

from broker.embedded import EmbeddedZooKeeper
from broker.errors import StackFailed
from broker.local_ring import LocalRing
from broker.local_zones import LocalBroker, LocalZones
from broker.zookeeper import SESSION_S

READY_S = 90.0
POLL_S = 0.01
VIA = 3
"""Nodes of the ring that whoever wants to reach it is told of: one is enough, and may die."""


class Part(NamedTuple):
    """One process of the stack, as people call it, and the file that it complains to."""

    name: str
    process: Popen[bytes]
    errors: Path


class Progress(NamedTuple):
    """What is ready: ring nodes and brokers of how many, and whether ZooKeeper is."""

    nodes: tuple[int, int]
    server: bool
    brokers: tuple[int, int]

    def __str__(self) -> str:
        ready = "ready" if self.server else "starting"
        return (
            f"{self.nodes[0]} of {self.nodes[1]} ring nodes, ZooKeeper {ready}, "
            f"{self.brokers[0]} of {self.brokers[1]} brokers"
        )


class LocalStack:
    """Ready once it was entered, and killed when it is left. Its processes end with the thread that entered it.

    `zones` zones, named zone-1 and so on, of `replicas` brokers each. `zookeeper` are the servers to use; without, one
    is started, whose files go to `directory`. `port` is that of the first node of the ring; 0 is any that is free.
    `on_progress` is called many times a second while the stack starts. Entering raises StackFailed, ProcessFailed.
    """

    def __init__(
        self,
        directory: Path,
        nodes: int = 8,
        zones: int = 2,
        replicas: int = 3,
        zookeeper: str | None = None,
        session_s: float = SESSION_S,
        trace: Path | None = None,
        port: int = 0,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> None:
        self.ring = LocalRing(trace)
        self.zookeeper = EmbeddedZooKeeper(directory / "zookeeper") if zookeeper is None else None
        self.zones: LocalZones | None = None
        self._hosts = zookeeper
        self._counts = (nodes, zones, replicas)
        self._session_s, self._trace, self._port = session_s, trace, port
        self._on_progress = on_progress
        self._served = False
        self._closing = ExitStack()

    @property
    def via(self) -> list[str]:
        """Addresses of the ring, for whoever wants to reach it."""
        return self.ring.addresses()[:VIA]

    @property
    def zookeeper_hosts(self) -> str:
        """Where ZooKeeper is."""
        return self._hosts or "" if self.zookeeper is None else self.zookeeper.hosts

    @property
    def brokers(self) -> list[LocalBroker]:
        """The brokers that were started and not ended, each with its zone, process, address and id."""
        return [] if self.zones is None else self.zones.members

    def parts(self) -> Iterator[Part]:
        """Every process, running or ended by itself."""
        for node in self.ring.nodes:
            yield Part(f"the ring node at {node.address}", node.process, node.errors)
        if self.zookeeper is not None and self.zookeeper.process is not None:
            yield Part(f"ZooKeeper at {self.zookeeper.hosts}", self.zookeeper.process, self.zookeeper.log)
        for broker in self.brokers:
            yield Part(f"the broker at {broker.address} of {broker.zone}", broker.process, broker.errors)

    def __enter__(self) -> LocalStack:
        with ExitStack() as stack:
            stack.callback(self.ring.close)
            if self.zookeeper is not None:
                stack.callback(self.zookeeper.kill)
            self._start_ring()
            self.zones = LocalZones(self.via, self.zookeeper_hosts, self._session_s, self._trace)
            stack.callback(self.zones.close)
            self._start_brokers(self.zones)
            self._closing = stack.pop_all()
        return self

    def _start_ring(self) -> None:
        """The ring and ZooKeeper, side by side."""
        nodes = self._counts[0]
        first = self.ring.launch([], self._port)
        if self.zookeeper is not None:
            self.zookeeper.launch()
        self._wait(lambda progress: progress.nodes[0] == 1)
        for _ in range(nodes - 1):
            self.ring.launch([first.address])
        self._wait(lambda progress: progress.nodes[0] == nodes and progress.server)

    def _start_brokers(self, zones: LocalZones) -> None:
        _, count, replicas = self._counts
        for number in range(1, count + 1):
            for _ in range(replicas):
                zones.launch(f"zone-{number}")
        self._wait(lambda progress: progress.brokers[0] == count * replicas)

    def _wait(self, done: Callable[[Progress], bool]) -> None:
        deadline = time.monotonic() + READY_S
        while not done(progress := self._look()):
            if self._on_progress is not None:
                self._on_progress(progress)
            if time.monotonic() > deadline:
                raise StackFailed(f"not ready within {READY_S:.0f} s: {progress}")
            time.sleep(POLL_S)

    def _look(self) -> Progress:
        nodes, zones, replicas = self._counts
        self._served = self._served or self.zookeeper is None or self.zookeeper.look()
        return Progress(
            (sum(node.look() for node in self.ring.nodes), nodes),
            self._served,
            (sum(broker.look() for broker in self.brokers), zones * replicas),
        )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.close()
