"""Zones of real brokers on a real ring with a real ZooKeeper, for tests: started, harmed, and watched."""

from __future__ import annotations

import itertools
import signal
import subprocess
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from broker.embedded import EmbeddedZooKeeper
from broker.local_ring import LocalRing
from broker.processes import end, read_line, start
from broker.zone_state import ZoneState, decode_state
from pubsub.client import Publisher, Subscriber
from tests.spools import read_rows
from tests.waiting import eventually

SESSION_S = 2.0
"""Twice the shortest that the embedded server grants: on a busy machine no session ends that is not meant to."""

_numbers = itertools.count(1)


@dataclass
class Broker:
    """One `ringcast broker`; `address` and `id` are known once it was ready."""

    process: subprocess.Popen[bytes]
    folder: Path
    address: str = ""
    id: str = ""

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def said(self) -> str:
        """Its standard error."""
        return (self.folder / "errors").read_text()

    def events(self, *kinds: str) -> list[list[Any]]:
        """What it left in its traces of these kinds: tag, kind, node, address, time, detail."""
        rows = [row for path in (self.folder / "trace").glob("*") for row in read_rows(path)]
        return [row for row in rows if row[0] == "event" and row[1] in kinds]


class Ground:
    """A ring and a ZooKeeper for the zones of many tests."""

    def __init__(self, nodes: int = 3) -> None:
        self.ring = LocalRing()
        self._nodes = nodes
        self._stack = ExitStack()

    def __enter__(self) -> Ground:
        with ExitStack() as stack:
            self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ringcast-")))
            self.zookeeper = stack.enter_context(EmbeddedZooKeeper(self.folder / "zookeeper"))
            stack.enter_context(self.ring)
            self.ring.grow(self._nodes)
            self.client = KazooClient(self.zookeeper.hosts, timeout=10.0)
            self.client.start(timeout=20)
            stack.callback(self.client.close)
            stack.callback(self.client.stop)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def via(self) -> list[str]:
        """The addresses of the ring."""
        return self.ring.addresses()


class Zone:
    """The brokers of a zone with a name of its own. At the end, no epoch may have had two primaries."""

    def __init__(self, ground: Ground, name: str = "", options: tuple[str, ...] = ()) -> None:
        self.name = name or f"zone-{next(_numbers)}"
        self._options = options
        self.brokers: list[Broker] = []
        self._ground = ground

    def launch(self, count: int = 1, port: int = 0, session_s: float = SESSION_S) -> list[Broker]:
        """Start so many at the same instant, without waiting for them."""
        return [self._launch(port, session_s) for _ in range(count)]

    def _launch(self, port: int, session_s: float) -> Broker:
        folder = self._ground.folder / f"{self.name}-{len(self.brokers)}"
        folder.mkdir()
        arguments = ["broker.cli", "broker", "--zone", self.name, "--zookeeper", self._ground.zookeeper.hosts]
        arguments += [
            "--session",
            str(session_s),
            "--port",
            str(port),
            "--trace",
            str(folder / "trace"),
            *self._options,
        ]
        for address in self._ground.via:
            arguments += ["--via", address]
        with (folder / "errors").open("wb") as errors:
            broker = Broker(start(arguments, subprocess.PIPE, errors.fileno()), folder)
        self.brokers.append(broker)
        return broker

    def wait_ready(self, brokers: list[Broker]) -> None:
        """Wait until these serve or follow."""
        for broker in brokers:
            line = read_line(broker.process, 20.0).split()
            assert (line[0], line[2]) == ("ready", f"zone={self.name}"), line
            broker.address, broker.id = line[1], line[3].removeprefix("id=")

    def grow(self, count: int = 1, port: int = 0, session_s: float = SESSION_S) -> list[Broker]:
        """Start so many at the same instant, and wait until they serve or follow, and all are in sync."""
        started = self.launch(count, port, session_s)
        self.wait_ready(started)
        self.wait_in_sync()
        return started

    @property
    def state(self) -> ZoneState | None:
        """What ZooKeeper holds."""
        path = f"/ringcast/ringcast/zones/{self.name}/state"
        client = self._ground.client
        try:
            return decode_state(client.retry(client.get, path)[0], path)
        except NoNodeError:
            return None

    @property
    def epoch(self) -> int:
        """The epoch of the primary that is or was elected last."""
        state = self.state
        assert state is not None
        return state.epoch

    @property
    def primary(self) -> Broker:
        """Who was elected last."""
        state = self.state
        assert state is not None
        return next(broker for broker in self.brokers if broker.id == state.leader)

    def alive(self) -> list[Broker]:
        """Those whose process runs or stands still."""
        return [broker for broker in self.brokers if broker.process.poll() is None]

    def wait_in_sync(self, brokers: list[Broker] | None = None) -> None:
        """Wait until all that live, or these, are those in sync."""
        wanted = {broker.id for broker in brokers or self.alive()}
        eventually(lambda: (state := self.state) and set(state.in_sync) == wanted, 20.0, f"in sync are {wanted},")

    def wait_epoch(self, above: int) -> int:
        """Wait until a primary of a higher epoch is elected; returns the epoch."""
        eventually(lambda: self.epoch > above, 20.0, f"an epoch above {above}")
        return self.epoch

    def harm(self, number: signal.Signals) -> Broker:
        """Send a signal to the primary; returns it."""
        broker = self.primary
        broker.process.send_signal(number)
        if number in {signal.SIGKILL, signal.SIGTERM}:
            broker.process.wait(10.0)
        return broker

    def publisher(self, **more: Any) -> Publisher:
        """A publisher whose samples go through this zone."""
        return Publisher(**{"via": self._ground.via, "zone": self.name, "on_warning": print, **more})

    def subscriber(self, *topics: str, **more: Any) -> Subscriber:
        """A subscriber that reads from this zone; its topic is named as the zone if none is given."""
        options = {"via": self._ground.via, "zone": self.name, "on_warning": print, **more}
        return Subscriber(list(topics) or [self.name], **options)

    def elected(self) -> list[tuple[int, str]]:
        """Epoch and id of every primary there was, as far as its traces reached a file."""
        return sorted(
            (int(str(row[5]).rpartition(" ")[2]), broker.id)
            for broker in self.brokers
            for row in broker.events("elected")
        )

    def __enter__(self) -> Zone:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for broker in self.brokers:
            end(broker.process)
        if error is None:
            epochs = [epoch for epoch, _ in self.elected()]
            assert len(epochs) == len(set(epochs)), f"two primaries in one epoch: {self.elected()}"
        else:
            print(*(f"{broker.address} {broker.id}:\n{broker.said()}" for broker in self.brokers), sep="\n")
