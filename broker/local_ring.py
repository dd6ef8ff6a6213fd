"""Ring nodes as processes of this machine, for the local stack, demo, benchmarks and tests."""

from __future__ import annotations

import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from broker.processes import READY_S, ProcessFailed, end, start

STOP_S = 5.0
POLL_S = 0.01


@dataclass
class Node:
    """One `dht join` under way; `address` and `identifier` are known once it is ready."""

    process: subprocess.Popen[bytes]
    output: Path
    errors: Path
    address: str = ""
    identifier: int = 0

    def look(self) -> bool:
        """Whether the node has said that it is ready. Raises ProcessFailed when it has ended instead."""
        if self.address:
            return True
        line = self.output.read_text().partition("\n")
        if line[1] and line[0].startswith("ready "):
            _, self.address, identifier, _ = line[0].split()
            self.identifier = int(identifier.removeprefix("id="), 16)
            return True
        if self.process.poll() is not None:
            said = self.errors.read_text().strip() or "nothing"
            raise ProcessFailed(f"a ring node ended with exit code {self.process.returncode} and said: {said}")
        return False


class LocalRing:
    """Ring nodes as processes of this machine, on free loopback ports; `options` go to every `dht join` to come."""

    def __init__(self, trace: Path | None = None) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="ringcast-")
        self._count = 0
        self.options: list[str] = [] if trace is None else ["--trace", str(trace)]
        self.nodes: list[Node] = []

    def launch(self, bootstrap: list[str], port: int = 0) -> Node:
        """Start one node without waiting for it; port 0 is any that is free."""
        folder = Path(self._folder.name)
        output, errors = folder / f"{self._count}.out", folder / f"{self._count}.err"
        self._count += 1
        arguments = ["chord.cli", "join", "--port", str(port), *self.options]
        for address in bootstrap:
            arguments += ["--bootstrap", address]
        with output.open("wb") as out, errors.open("wb") as err:
            process = start(arguments, out.fileno(), err.fileno())
        node = Node(process, output, errors)
        self.nodes.append(node)
        return node

    def wait_ready(self, nodes: list[Node], timeout_s: float = READY_S) -> None:
        """Wait until each of these nodes is ready. Raises ProcessFailed."""
        deadline = time.monotonic() + timeout_s
        while sum(node.look() for node in nodes) < len(nodes):  # every one is looked at each time
            if time.monotonic() > deadline:
                missing = sum(not node.address for node in nodes)
                raise ProcessFailed(f"{missing} of {len(nodes)} ring nodes were not ready within {timeout_s:.0f} s")
            time.sleep(POLL_S)

    def look(self) -> None:
        """Take note of which nodes have become ready. Raises ProcessFailed when one has ended instead."""
        for node in self.nodes:
            node.look()

    def grow(self, count: int) -> list[Node]:
        """Start `count` more nodes at once, through the ready ones, and wait for them; the first starts the ring."""
        started: list[Node] = []
        if not self.nodes and count:
            started.append(self.launch([]))
            self.wait_ready(started)
            count -= 1
        bootstrap = self.addresses()[:3]
        more = [self.launch(bootstrap) for _ in range(count)]
        self.wait_ready(more)
        return started + more

    def addresses(self) -> list[str]:
        """The addresses of the nodes that are ready and have not been ended."""
        return [node.address for node in self.nodes if node.address and node.process.poll() is None]

    def kill(self, node: Node) -> None:
        """kill -9."""
        end(node.process)
        self.nodes.remove(node)

    def terminate(self, node: Node) -> int:
        """SIGTERM, upon which the node leaves gracefully; returns its exit code."""
        node.process.terminate()
        code = node.process.wait(STOP_S)
        self.nodes.remove(node)
        return code

    def close(self) -> None:
        """kill -9 every node."""
        for node in self.nodes:
            node.process.kill()
        for node in self.nodes:
            end(node.process)
        self.nodes.clear()
        self._folder.cleanup()

    def __enter__(self) -> LocalRing:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
