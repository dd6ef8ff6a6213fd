"""Ring nodes as processes of this machine, for the local stack, demo, benchmarks and tests."""

from __future__ import annotations

from pathlib import Path

from broker.launched import Group, Launched


class Node(Launched):
    """One `dht join`."""

    @property
    def identifier(self) -> int:
        """That of its first member, once it is ready."""
        return int(self.word("id") or "0", 16)


class LocalRing(Group[Node]):
    """Ring nodes on free loopback ports; `options` go to every `dht join` to come."""

    def __init__(self, trace: Path | None = None) -> None:
        super().__init__()
        self.options: list[str] = [] if trace is None else ["--trace", str(trace)]

    @property
    def nodes(self) -> list[Node]:
        """Those that were started and not ended."""
        return self.members

    def launch(self, bootstrap: list[str], port: int = 0) -> Node:
        """Start one node without waiting for it; port 0 is any that is free."""
        arguments = ["chord.cli", "join", "--port", str(port), *self.options]
        for address in bootstrap:
            arguments += ["--bootstrap", address]
        return self.run(Node, arguments)

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
