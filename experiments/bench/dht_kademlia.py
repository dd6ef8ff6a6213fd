"""A node of kademlia 2.2.3 as a process. Prints its port, then does what experiments/bench/dht_report.py says.

    python -m experiments.bench.dht_kademlia [PORT]     joins the network of the node at that port

Its bucket size is 4: at the default of 20 every one of 16 nodes holds every key. All else is as it comes; `Server` has
no setting for the 5 s that a call waits.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
from collections.abc import Coroutine
from typing import Any

from kademlia.network import Server
from kademlia.utils import digest

from experiments.bench.dht_report import SLOWEST_S, obey

KSIZE = 4


class Node:
    """A server in an event loop of its own thread; a get is timed inside that loop, as an asyncio program sees it."""

    def __init__(self, bootstrap: list[int]) -> None:
        self._loop = asyncio.new_event_loop()
        self._server = Server(ksize=KSIZE)
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self._run(self._server.listen(0, "127.0.0.1"))
        self.port: int = self._server.transport.get_extra_info("sockname")[1]
        if bootstrap:
            self._run(self._server.bootstrap([("127.0.0.1", port) for port in bootstrap]))

    def put(self, key: str, value: str) -> None:
        self._run(self._server.set(key, value))

    def get_us(self, key: str, value: str) -> float | None:
        took_us: float | None = self._run(self._timed(key, value))
        return took_us

    def held(self, keys: list[str]) -> set[str]:
        return {key for key in keys if self._server.storage.get(digest(key)) is not None}

    async def _timed(self, key: str, value: str) -> float | None:
        started = time.perf_counter()
        found = await self._server.get(key)
        return (time.perf_counter() - started) * 1e6 if found == value else None

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(SLOWEST_S)


def main() -> None:
    """Serve until killed."""
    logging.disable(logging.CRITICAL)
    node = Node([int(port) for port in sys.argv[1:]])
    print(node.port, flush=True)
    obey(node)


if __name__ == "__main__":
    main()
