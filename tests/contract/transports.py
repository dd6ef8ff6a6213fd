"""The two transports under one interface: the simulated network, and ZeroMQ sockets on loopback.

Nodes and askers are kernels with the production code in them; what differs is what moves their messages. Everything
runs in the thread of the test, so a node that is not turned is a node that is paused.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any, Protocol

import zmq

from chord.effects import Operation
from chord.host import Host
from chord.kernel import Kernel
from chord.outcome import Outcome
from chord.settings import Settings
from chord.sockets import bind, make_context, make_socket
from chord.zmq_driver import ZmqDriver
from sim.cluster import Cluster, address_of
from sim.network import Endpoint, Link, constant
from sim.process import Process

PATIENCE_S = 20.0


class World(Protocol):
    """Nodes, askers, and what is done to them."""

    nobody: str

    def node(self, settings: Settings) -> Host:
        """A ring of one node."""

    def asker(self, cluster: str = "ringcast") -> Kernel:
        """A process that only asks."""

    def begin(self, kernel: Kernel, operation: Operation[Any]) -> Outcome[Any]:
        """Begin an operation of an asker's."""

    def until(self, done: Callable[[], bool]) -> None:
        """Let everything run until a condition holds."""

    def pause(self, host: Host) -> None:
        """Keep a node from doing anything."""

    def resume(self, host: Host) -> None:
        """Let it go on."""

    def raw(self, address: str, frames: list[bytes], replies: int) -> list[bytes]:
        """Send frames as they are, from one caller, and wait for so many replies."""

    def close(self) -> None:
        """End everything."""


def ask(world: World, kernel: Kernel, operation: Operation[Any]) -> Any:
    """Run an operation to its end, and return its result or raise its error."""
    outcome = world.begin(kernel, operation)
    world.until(lambda: outcome.done)
    return outcome.value()


class SimulatedWorld:
    """Virtual time and sim.network."""

    nobody = "10.99.0.1:5000"

    def __init__(self) -> None:
        self._cluster = Cluster(seed=1, link=Link(constant(0.002)))
        self._askers: dict[Kernel, Process] = {}
        self._nodes = 0

    def node(self, settings: Settings) -> Host:
        self._cluster.settings = settings
        node = self._cluster.start(address_of(self._nodes), [])
        self._nodes += 1
        return node.host

    def asker(self, cluster: str = "ringcast") -> Kernel:
        label = f"asker-{len(self._askers)}"
        kernel = Kernel(cluster, label, random.Random(label))
        self._askers[kernel] = self._cluster.new_process(kernel)
        return kernel

    def begin(self, kernel: Kernel, operation: Operation[Any]) -> Outcome[Any]:
        return self._askers[kernel].start(operation)

    def until(self, done: Callable[[], bool]) -> None:
        assert self._cluster.scheduler.run_until(done, PATIENCE_S)

    def pause(self, host: Host) -> None:
        self._cluster.nodes[host.kernel.address].process.pause()

    def resume(self, host: Host) -> None:
        self._cluster.nodes[host.kernel.address].process.resume()

    def raw(self, address: str, frames: list[bytes], replies: int) -> list[bytes]:
        received: list[bytes] = []
        caller = Endpoint("raw", lambda _route, _frame: None, lambda _route, frame: received.append(frame))
        self._cluster.network.attach(caller)
        for frame in frames:
            self._cluster.network.request(caller, address, frame)
        self.until(lambda: len(received) >= replies)
        return received

    def close(self) -> None:
        pass


class ZmqWorld:
    """Real time and real sockets."""

    nobody = "127.0.0.1:9"

    def __init__(self) -> None:
        self._context = make_context()
        self._drivers: dict[Kernel, ZmqDriver] = {}
        self._paused: set[Kernel] = set()

    def node(self, settings: Settings) -> Host:
        router = make_socket(self._context, zmq.ROUTER)
        address = f"127.0.0.1:{bind(router, '127.0.0.1', 0)}"
        host = Host(settings, address, 1, random.Random(address))
        self._drivers[host.kernel] = driver = ZmqDriver(self._context, host.kernel, router)
        driver.start(host.boot([], PATIENCE_S))
        return host

    def asker(self, cluster: str = "ringcast") -> Kernel:
        label = f"asker-{len(self._drivers)}"
        kernel = Kernel(cluster, label, random.Random(label))
        self._drivers[kernel] = ZmqDriver(self._context, kernel)
        return kernel

    def begin(self, kernel: Kernel, operation: Operation[Any]) -> Outcome[Any]:
        return self._drivers[kernel].start(operation)

    def until(self, done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not done():
            assert time.monotonic() < deadline, f"nothing came within {PATIENCE_S} s"
            for kernel, driver in self._drivers.items():
                if kernel not in self._paused:
                    driver.turn(0.001)

    def pause(self, host: Host) -> None:
        self._paused.add(host.kernel)

    def resume(self, host: Host) -> None:
        self._paused.remove(host.kernel)

    def raw(self, address: str, frames: list[bytes], replies: int) -> list[bytes]:
        received: list[bytes] = []
        with make_socket(self._context, zmq.DEALER) as caller:
            caller.setsockopt(zmq.IMMEDIATE, 0)  # the frames may wait for the connection
            caller.connect(f"tcp://{address}")
            for frame in frames:
                caller.send(frame)

            def enough() -> bool:
                while caller.poll(0):
                    received.append(caller.recv())
                return len(received) >= replies

            self.until(enough)
        return received

    def close(self) -> None:
        for driver in self._drivers.values():
            driver.close()
        self._context.destroy(linger=0)
