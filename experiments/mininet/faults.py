"""Does what the fault plan says, when it is due, and writes down what was done."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from typing import Any, Protocol

from experiments.mininet.targets import PRIMARY, Hit


class Links(Protocol):
    """What can be done to a network."""

    def link(self, upper: str, lower: str, up: bool) -> None: ...

    def uplink(self, host: str) -> tuple[str, str]: ...


class Process(Protocol):
    """What can be done to a process."""

    def send_signal(self, sig: int, /) -> None: ...


class Hosts(Protocol):
    """What can be done to hosts."""

    def primary(self) -> str: ...

    def kill(self, host: str) -> None: ...

    def processes(self, host: str) -> Sequence[Process]: ...


class Faults:
    """The hits of one run. A host that is killed falls silent first, as a machine does: nothing says goodbye for it."""

    def __init__(self, hits: Sequence[Hit], network: Links, hosts: Hosts) -> None:
        self._left = sorted(hits, key=lambda hit: hit.fault.at_s)
        self._network, self._hosts = network, hosts
        self._began_at = 0.0
        self.done: list[dict[str, Any]] = []
        """What was done: kind, at_us, target, and the host or links that this was."""
        self.killed: set[str] = set()

    @property
    def over(self) -> bool:
        """Whether all was done."""
        return not self._left

    def begin(self) -> None:
        """The workload begins now."""
        self._began_at = time.monotonic()

    def play_due(self) -> None:
        """Do what is due."""
        while self._left and time.monotonic() - self._began_at >= self._left[0].fault.at_s:
            self._play(self._left.pop(0))

    def _play(self, hit: Hit) -> None:
        kind = hit.fault.kind
        entry: dict[str, Any] = {"kind": kind, "at_us": time.time_ns() // 1000, "target": hit.fault.target}
        if hit.links:
            up = kind in ("link_up", "heal")
            for upper, lower in hit.links:
                self._network.link(upper, lower, up)
            entry["links"] = ["-".join(link) for link in hit.links]
        else:
            host = self._hosts.primary() if hit.host == PRIMARY else hit.host
            self._hit(kind, host)
            entry["host"] = host
        self.done.append(entry)

    def _hit(self, kind: str, host: str) -> None:
        if kind == "kill":
            self._network.link(*self._network.uplink(host), up=False)
            self._hosts.kill(host)
            self.killed.add(host)
            return
        number = signal.SIGSTOP if kind == "stop" else signal.SIGCONT
        for process in self._hosts.processes(host):
            process.send_signal(number)
