"""One zone on a ring of one node, with a ZooKeeper of its own, for one benchmark."""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from broker.embedded import EmbeddedZooKeeper
from broker.local_ring import LocalRing
from broker.local_zones import LocalBroker, LocalZones
from broker.processes import ProcessFailed
from chord.client import RingClient
from pubsub.zones import ZoneLoad, list_zones

ZONE = "zone-1"
SESSION_S = 6.0
SETTLED_S = 30.0
POLL_S = 0.05


class BenchZone:
    """Brokers of one zone, which end with `stack`; ready once all of them are in sync."""

    def __init__(self, stack: ExitStack, replicas: int, session_s: float = SESSION_S) -> None:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="ringcast-bench-"))
        zookeeper = stack.enter_context(EmbeddedZooKeeper(Path(folder)))
        ring = stack.enter_context(LocalRing())
        ring.grow(1)
        self.via = ring.addresses()[0]
        self._replicas = replicas
        self._client = stack.enter_context(RingClient([self.via]))
        self._zones = stack.enter_context(LocalZones([self.via], zookeeper.hosts, session_s))
        self.replenish()

    def replenish(self) -> None:
        """Start brokers until there are as many as there are to be, and wait until they are in sync."""
        started = [self._zones.launch(ZONE) for _ in range(self._replicas - len(self._zones.members))]
        self._zones.wait_ready(started)
        deadline = time.monotonic() + SETTLED_S
        while (load := self._load()) is None or not load.in_sync == load.brokers == self._replicas:
            if time.monotonic() > deadline:
                raise ProcessFailed(f"{self._replicas} brokers were not in sync within {SETTLED_S:.0f} s: {load}")
            time.sleep(POLL_S)

    def primary(self) -> LocalBroker:
        """The broker that serves the zone, by what the ring says."""
        load = self._load()
        if load is None:
            raise ProcessFailed("the zone has no primary")
        return self._zones.at(load.primary.address)

    def kill(self, broker: LocalBroker) -> None:
        """kill -9."""
        self._zones.kill(broker)

    def stop(self, broker: LocalBroker) -> None:
        """SIGTERM, upon which it hands over and ends."""
        self._zones.terminate(broker)

    def _load(self) -> ZoneLoad | None:
        return self._client.run(list_zones).get(ZONE)
