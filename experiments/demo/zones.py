"""The brokers of the demo: two zones of three, one of which loses its primary on the way."""

from __future__ import annotations

import time
from pathlib import Path

from broker.embedded import EmbeddedZooKeeper
from broker.local_zones import LocalBroker, LocalZones
from chord.client import RingClient
from pubsub.zones import ZoneLoad, list_zones

ZONES = ("zone-1", "zone-2")
REPLICAS = 3
SESSION_S = 2.0
"""The session time-out with ZooKeeper: how soon a primary that only stands still is replaced."""


class DemoZones:
    """ZooKeeper and the brokers, from `launch` until `close`."""

    def __init__(self, directory: Path, traces: Path) -> None:
        self._zookeeper = EmbeddedZooKeeper(directory)
        self._traces = traces
        self._zones: LocalZones | None = None
        self.killed_us: int | None = None
        """When a primary was killed, in microseconds since the epoch."""

    def launch_zookeeper(self) -> None:
        """Start ZooKeeper, which takes less than a ring does."""
        self._zookeeper.launch()

    def launch(self, via: list[str]) -> None:
        """Start every broker."""
        self._zookeeper.wait_ready()
        self._zones = LocalZones(via, self._zookeeper.hosts, SESSION_S, self._traces)
        for zone in ZONES:
            for _ in range(REPLICAS):
                self._zones.launch(zone)

    @property
    def ready(self) -> bool:
        """Whether every broker serves or follows. Raises ProcessFailed when one has ended."""
        assert self._zones is not None
        self._zones.look()
        return all(broker.ready for broker in self._zones.members)

    def loads(self, via: list[str]) -> dict[str, ZoneLoad]:
        """The zones as the ring names them."""
        with RingClient(via) as client:
            return client.run(list_zones)

    def in_sync(self, via: list[str]) -> bool:
        """Whether every broker of every zone is in sync."""
        loads = self.loads(via)
        return all(zone in loads and loads[zone].in_sync == REPLICAS for zone in ZONES)

    def kill_primary(self, zone: str, via: list[str]) -> LocalBroker:
        """kill -9 of the primary of a zone."""
        assert self._zones is not None
        broker = self._zones.at(self.loads(via)[zone].primary.address)
        self.killed_us = time.time_ns() // 1000
        self._zones.kill(broker)
        return broker

    def close(self) -> None:
        """kill -9 of everything: what the brokers traced within the last moment is not written."""
        if self._zones is not None:
            self._zones.close()
        self._zookeeper.kill()
