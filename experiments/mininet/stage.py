"""The processes that a workload meets, each on its host: ring nodes, ZooKeeper, brokers. They end with the stage."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from subprocess import Popen
from typing import Self

from broker.embedded import EmbeddedZooKeeper
from broker.local_ring import LocalRing, Node
from broker.local_zones import LocalZones
from broker.processes import ProcessFailed
from broker.zookeeper import SESSION_S, require_kazoo
from chord.client import RingClient
from chord.errors import RingcastError
from chord.views import is_consistent
from experiments.mininet.layout import address
from experiments.mininet.network import Network
from experiments.mininet.seats import Seats
from experiments.rings.settle import FINGERS_S, is_ideal
from experiments.sweep.cells import Cell
from pubsub.zones import list_zones

NODE_PORT = 5000
BROKER_PORT = 6000
ZOOKEEPER_PORT = 2181
VIA = 3
POLL_S = 0.2
READY_S = 120.0
READY_A_HOST_S = 10.0
"""Two processors start a Python process or two a second; beside other work it takes longer."""

STARTED_AGAIN = 64
"""How often, in all, ring nodes are started again that ended without having joined."""

AT_ONCE = 4
"""Ring nodes that start at the same time: with more, those that are there get too little time to answer."""

FIRST_ZONE = "zone-1"


class Stage:
    """`start` it, then ask where things are. `folder` is for files that nobody needs afterwards."""

    def __init__(self, cell: Cell, seats: Seats, network: Network, traces: Path, folder: Path) -> None:
        self._cell, self._seats, self._network = cell, seats, network
        self._traces, self._folder = traces, folder
        self._ring = LocalRing()
        self._zookeeper: EmbeddedZooKeeper | None = None
        self._zones: LocalZones | None = None
        self._on: dict[str, list[Popen[bytes]]] = {host: [] for host in seats.roles()}
        self._closing = ExitStack()
        self._closing.callback(self._ring.close)
        self._nodes: dict[str, Node] = {}
        self._again = STARTED_AGAIN
        self.formed_s = 0.0
        """Seconds from the start of the first node until the ring was one, with full lists."""
        self._within_s = READY_S + READY_A_HOST_S * seats.count

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def start(self, told: Callable[[int, int], None]) -> None:
        """Start everything and wait until it is ready; `told` hears of how many processes. Raises RingcastError."""
        nodes = self._seats.nodes
        began_at = time.monotonic()
        bootstrap = f"{address(nodes[0])}:{NODE_PORT}"
        self._launch_node(nodes[0], [])
        self._wait_nodes(told)
        for first in range(1, len(nodes), AT_ONCE):
            for host in nodes[first : first + AT_ONCE]:
                self._launch_node(host, [bootstrap])
            self._wait_nodes(told)
        self._wait_ideal()
        self.formed_s = round(time.monotonic() - began_at, 2)
        if len(nodes) * self._cell.vnodes - 1 > self._cell.successors:  # a smaller ring needs no fingers
            time.sleep(FINGERS_S)
        if self._seats.brokers:
            self._start_brokers()

    @property
    def via(self) -> list[str]:
        """Some nodes of the ring, for whoever wants to reach it."""
        return self.nodes[:VIA]

    @property
    def nodes(self) -> list[str]:
        """The addresses of all nodes."""
        return [f"{address(host)}:{NODE_PORT}" for host in self._seats.nodes]

    def belongs(self, host: str, process: Popen[bytes]) -> None:
        """Have a process count as one of a host."""
        self._on[host].append(process)

    def processes(self, host: str) -> list[Popen[bytes]]:
        """What runs on a host, or did."""
        return self._on[host]

    def kill(self, host: str) -> None:
        """kill -9 of everything on a host."""
        for process in self._on[host]:
            process.kill()  # whoever started it reads what it has said, and closes it

    def primary(self) -> str:
        """The host of the primary of the first zone. Raises RingcastError."""
        with self._network.inside(self._seats.nodes[0]), RingClient(self.via) as client:
            found = client.run(list_zones)
        if FIRST_ZONE not in found:
            raise ProcessFailed(f"{FIRST_ZONE} has no primary just now")
        where = found[FIRST_ZONE].primary.address.rpartition(":")[0]
        return next(host for host in self._seats.brokers if address(host) == where)

    # The ring ------------------------------------------------------------------------------------------------------

    def _launch_node(self, host: str, bootstrap: list[str]) -> None:
        cell = self._cell
        options = {"host": address(host), "trace": self._traces, "vnodes": cell.vnodes, "successors": cell.successors}
        self._ring.options = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        with self._network.inside(host):
            node = self._ring.launch(bootstrap, NODE_PORT)
        self._nodes[host] = node
        self.belongs(host, node.process)

    def _wait_nodes(self, told: Callable[[int, int], None]) -> None:
        deadline = time.monotonic() + self._within_s
        wanted, total = len(self._ring.nodes), len(self._seats.nodes)
        while (ready := sum(self._look(host) for host in list(self._nodes))) < wanted:
            told(ready, total)
            if time.monotonic() > deadline:
                raise ProcessFailed(f"{ready} of {wanted} ring nodes were ready within {self._within_s:.0f} s")
            time.sleep(POLL_S)
        told(ready, total)

    def _look(self, host: str) -> bool:
        """Whether a node is ready. One that could not join is started again, as whoever runs a machine would do."""
        node = self._nodes[host]
        try:
            return node.look()
        except ProcessFailed:
            if host == self._seats.nodes[0] or not self._again:
                raise
        self._again -= 1
        self._ring.kill(node)
        self._on[host].remove(node.process)
        self._launch_node(host, [f"{address(self._seats.nodes[0])}:{NODE_PORT}"])
        return False

    def _wait_ideal(self) -> None:
        """Wait until the ring is one, with full lists."""
        cell, count = self._cell, len(self._seats.nodes) * self._cell.vnodes
        deadline = time.monotonic() + self._within_s
        with self._network.inside(self._seats.nodes[0]), RingClient(self.via) as client:
            while True:
                found = 0
                with suppress(RingcastError):
                    views = client.members()
                    found = len(views)
                    if cell.vnodes == 1 and is_ideal(views, count, cell.successors):
                        break
                    if cell.vnodes > 1 and found == count and is_consistent(views):
                        break
                if time.monotonic() > deadline:
                    raise ProcessFailed(f"a ring of {count} did not form in {self._within_s:.0f} s: {found} members")
                time.sleep(POLL_S)

    # The brokers ---------------------------------------------------------------------------------------------------

    def _start_brokers(self) -> None:
        require_kazoo()
        host = self._seats.zookeeper
        assert host is not None
        server = EmbeddedZooKeeper(self._folder / "zookeeper", ZOOKEEPER_PORT, address(host))
        self._closing.callback(server.kill)
        with self._network.inside(host):
            server.launch()
            server.wait_ready(self._within_s)
        assert server.process is not None
        self.belongs(host, server.process)
        self._zones = LocalZones(self.via, server.hosts, SESSION_S, self._traces)
        self._closing.callback(self._zones.close)
        for index, broker_host in enumerate(self._seats.brokers):
            with self._network.inside(broker_host):
                zone = f"zone-{index // self._cell.replicas + 1}"
                launched = self._zones.launch(zone, BROKER_PORT, address(broker_host))
            self.belongs(broker_host, launched.process)
        self._zones.wait_ready(timeout_s=self._within_s)
        self._wait_in_sync()

    def _wait_in_sync(self) -> None:
        deadline = time.monotonic() + self._within_s
        wanted = self._cell.replicas
        with self._network.inside(self._seats.nodes[0]), RingClient(self.via) as client:
            while True:
                with suppress(RingcastError):
                    loads = client.run(list_zones)
                    if len(loads) == self._cell.zones and all(load.in_sync >= wanted for load in loads.values()):
                        return
                if time.monotonic() > deadline:
                    raise ProcessFailed(f"not every broker was in sync within {self._within_s:.0f} s")
                time.sleep(POLL_S)
