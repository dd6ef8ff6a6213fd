"""A node of OpenDHT 4.4.2 as a process. Prints its port, then does what experiments/bench/dht_report.py says.

    python -m experiments.bench.dht_opendht [PORT]      joins the network of the node at that port

A get ends with the first value that arrives; to wait until every node has answered takes several times as long.
Limits on the rate of requests are off.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

import opendht

from experiments.bench.dht_report import SLOWEST_S, obey


class Node:
    """One runner, with a thread of its own inside the library."""

    def __init__(self, bootstrap: list[str]) -> None:
        config = opendht.DhtConfig()
        config.setRateLimit(-1, -1)
        self._runner = opendht.DhtRunner()
        self._under_way: list[threading.Event] = []
        self._runner.run(ipv4="127.0.0.1", config=config)
        self.port: int = self._runner.getBound().getPort()
        for port in bootstrap:
            self._runner.bootstrap("127.0.0.1", port)

    def put(self, key: str, value: str) -> None:
        if not self._runner.put(opendht.InfoHash.get(key), opendht.Value(value.encode())):
            raise RuntimeError(f"OpenDHT did not store {key}")

    def get_us(self, key: str, value: str) -> float | None:
        wanted = value.encode()
        arrived: list[float] = []
        ended = threading.Event()
        done = threading.Event()
        self._under_way.append(done)

        def on_value(found: Any) -> bool:
            if found.data == wanted and not arrived:
                arrived.append(time.perf_counter())
                ended.set()
            return False

        def on_done(_ok: bool, _nodes: Any) -> None:
            done.set()
            ended.set()

        ask = self._runner.get
        started = time.perf_counter()
        ask(opendht.InfoHash.get(key), on_value, on_done)
        ended.wait(SLOWEST_S)
        return (arrived[0] - started) * 1e6 if arrived else None

    def held(self, keys: list[str]) -> set[str]:
        # The library calls back under the lock that this call waits for with the interpreter's own lock held.
        for done in self._under_way:
            done.wait(SLOWEST_S)
        self._under_way.clear()
        stored = self._runner.getStorageLog()
        return {key for key in keys if str(opendht.InfoHash.get(key)) in stored}


def main() -> None:
    """Serve until killed."""
    node = Node(sys.argv[1:])
    print(node.port, flush=True)
    obey(node)


if __name__ == "__main__":
    main()
