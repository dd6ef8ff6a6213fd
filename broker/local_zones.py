"""Brokers as processes of this machine: started, waited for, killed, ended."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen
from types import TracebackType

from broker.processes import POLL_S, READY_S, ProcessFailed, end, start


@dataclass
class LocalBroker:
    """One `ringcast broker` under way; `address` and `id` are known once it is ready."""

    zone: str
    process: Popen[bytes]
    output: Path
    errors: Path
    address: str = ""
    id: str = ""

    def look(self) -> bool:
        """Whether it has said that it is ready. Raises ProcessFailed when it has ended instead."""
        if self.address:
            return True
        line = self.output.read_text().partition("\n")
        if line[1] and line[0].startswith("ready "):
            _, self.address, _, identity = line[0].split()
            self.id = identity.removeprefix("id=")
            return True
        if self.process.poll() is not None:
            said = self.errors.read_text().strip() or "nothing"
            raise ProcessFailed(f"a broker of {self.zone} ended with exit code {self.process.returncode}: {said}")
        return False


class LocalZones:
    """Zones of brokers that find the ring through `via` and elect primaries through `zookeeper`."""

    def __init__(self, via: list[str], zookeeper: str, session_s: float, trace: Path | None = None) -> None:
        self.brokers: list[LocalBroker] = []
        self._folder = tempfile.TemporaryDirectory(prefix="ringcast-")
        self._options = ["--zookeeper", zookeeper, "--session", f"{session_s:g}"]
        for address in via:
            self._options += ["--via", address]
        if trace is not None:
            self._options += ["--trace", str(trace)]
        self._count = 0

    def launch(self, zone: str, port: int = 0) -> LocalBroker:
        """Start one broker without waiting for it; port 0 is any that is free."""
        folder = Path(self._folder.name)
        output, errors = folder / f"{self._count}.out", folder / f"{self._count}.err"
        self._count += 1
        arguments = ["broker.cli", "broker", "--zone", zone, "--port", str(port), *self._options]
        with output.open("wb") as out, errors.open("wb") as err:
            process = start(arguments, out.fileno(), err.fileno())
        broker = LocalBroker(zone, process, output, errors)
        self.brokers.append(broker)
        return broker

    def look(self) -> bool:
        """Whether every broker is ready. Raises ProcessFailed when one has ended instead."""
        return all([broker.look() for broker in self.brokers])

    def wait_ready(self, timeout_s: float = READY_S) -> None:
        """Wait until every broker is ready. Raises ProcessFailed."""
        deadline = time.monotonic() + timeout_s
        while not self.look():
            if time.monotonic() > deadline:
                missing = sum(not broker.address for broker in self.brokers)
                raise ProcessFailed(f"{missing} of {len(self.brokers)} brokers were not ready within {timeout_s:.0f} s")
            time.sleep(POLL_S)

    def at(self, address: str) -> LocalBroker:
        """The broker at an address."""
        return next(broker for broker in self.brokers if broker.address == address)

    def kill(self, broker: LocalBroker) -> None:
        """kill -9."""
        end(broker.process)
        self.brokers.remove(broker)

    def terminate(self, broker: LocalBroker, timeout_s: float = 5.0) -> int:
        """SIGTERM, upon which the next broker leads at once; returns its exit code."""
        broker.process.terminate()
        code = broker.process.wait(timeout_s)
        self.brokers.remove(broker)
        return code

    def close(self) -> None:
        """kill -9 every broker."""
        for broker in self.brokers:
            broker.process.kill()
        for broker in self.brokers:
            end(broker.process)
        self.brokers.clear()
        self._folder.cleanup()

    def __enter__(self) -> LocalZones:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
