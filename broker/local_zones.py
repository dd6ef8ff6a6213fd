"""Brokers as processes of this machine."""

from __future__ import annotations

from pathlib import Path

from broker.launched import Group, Launched


class LocalBroker(Launched):
    """One `ringcast broker`."""

    @property
    def id(self) -> str:
        """Its id, once it is ready."""
        return self.word("id")

    @property
    def zone(self) -> str:
        """Its zone, once it is ready."""
        return self.word("zone")


class LocalZones(Group[LocalBroker]):
    """Brokers that find the ring through `via` and elect their zones' primaries through `zookeeper`."""

    def __init__(self, via: list[str], zookeeper: str, session_s: float, trace: Path | None = None) -> None:
        super().__init__()
        self._options = ["--zookeeper", zookeeper, "--session", f"{session_s:g}"]
        for address in via:
            self._options += ["--via", address]
        if trace is not None:
            self._options += ["--trace", str(trace)]

    def launch(self, zone: str, port: int = 0, host: str = "127.0.0.1") -> LocalBroker:
        """Start one broker without waiting for it; port 0 is any that is free."""
        where = ["--host", host, "--port", str(port)]
        return self.run(LocalBroker, ["broker.cli", "broker", "--zone", zone, *where, *self._options])

    def at(self, address: str) -> LocalBroker:
        """The broker at an address, which must be one."""
        return next(broker for broker in self.members if broker.address == address)
