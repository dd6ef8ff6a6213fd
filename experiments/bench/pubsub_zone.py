"""One zone on a ring of one node, for one benchmark."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path

from broker.local_zones import LocalBroker, LocalZones
from broker.processes import ProcessFailed
from broker.scratch import Scratch
from broker.stack import LocalStack
from broker.zookeeper import SESSION_S
from chord.client import RingClient
from pubsub.zones import ZoneLoad, list_zones

ZONE = "zone-1"
SETTLED_S = 60.0
POLL_S = 0.05


class BenchZone:
    """Brokers of one zone, which end with `stack`; ready once all of them are in sync."""

    def __init__(self, stack: ExitStack, replicas: int, session_s: float = SESSION_S) -> None:
        folder = stack.enter_context(Scratch("bench"))
        local = LocalStack(Path(folder), nodes=1, zones=1, replicas=replicas, session_s=session_s)
        stack.enter_context(local)
        assert local.zones is not None, "it was entered"
        self.zones: LocalZones = local.zones
        self.via = local.via[0]
        self._replicas = replicas
        self._client = stack.enter_context(RingClient([self.via]))
        self._wait_in_sync()

    def replenish(self) -> None:
        """Start brokers until there are as many as there are to be, and wait until they are in sync."""
        missing = self._replicas - len(self.zones.members)
        self.zones.wait_ready([self.zones.launch(ZONE) for _ in range(missing)])
        self._wait_in_sync()

    def primary(self) -> LocalBroker:
        """The broker that serves the zone, by what the ring says."""
        load = self._load()
        if load is None:
            raise ProcessFailed("the zone has no primary")
        return self.zones.at(load.primary.address)

    def _wait_in_sync(self) -> None:
        deadline = time.monotonic() + SETTLED_S
        while (load := self._load()) is None or not load.in_sync == load.brokers == self._replicas:
            if time.monotonic() > deadline:
                raise ProcessFailed(f"{self._replicas} brokers were not in sync within {SETTLED_S:.0f} s: {load}")
            time.sleep(POLL_S)

    def _load(self) -> ZoneLoad | None:
        return self._client.run(list_zones).get(ZONE)
