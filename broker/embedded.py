"""A ZooKeeper server for one machine, from the classes that PySpark carries: for the local stack, tests and benchmarks.

It listens on loopback, or on another address of this machine. It ends with the thread that started it. Its log is the
file `zookeeper.log` of its directory.
It does not sync its files: they outlive the process, not the machine, which all that it serves runs on.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import random
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO

from broker.errors import StackFailed
from broker.java import NoJava, choose
from broker.processes import end, start_program

READY_S = 60.0
POLL_S = 0.01
ASKING_S = 1.0
ATTEMPTS = 3
TICK_MS = 100
"""The end of a session is noticed up to one of these too late."""

SESSIONS_MS = (1_000, 60_000)
"""The shortest and the longest that is granted."""

JARS = ("zookeeper", "zookeeper-jute", "metrics-core", "slf4j-api", "snappy-java")
"""All that the server loads. With every jar of Spark it takes 3.8 s to start instead of 0.6, and twice the memory."""

PORTS_FROM = 10_000
OPTIONS = (
    "-Xmx128m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-Dzookeeper.forceSync=no",
    "-Dzookeeper.preAllocSize=1024",
)
INSTEAD = "use a server that runs already: --zookeeper HOSTS"
INSTALL = f"`pip install 'ringcast[brokers,analysis]'`, or {INSTEAD}"


class EmbeddedZooKeeper:
    """One server, whose data lies in `directory`; port 0 takes a free one and keeps it. Raises StackFailed.

    `host` is where it listens, a number.
    """

    def __init__(self, directory: Path, port: int = 0, host: str = "127.0.0.1") -> None:
        self.directory = directory.absolute()
        self.port = port
        self.host = host
        self.process: subprocess.Popen[bytes] | None = None
        self._any_port = port == 0
        self._attempts = 0
        self._lock: IO[bytes] | None = None

    @property
    def hosts(self) -> str:
        """Where it listens, as clients want to be told; known once it was launched."""
        return f"{self.host}:{self.port}"

    @property
    def log(self) -> Path:
        """What the server says."""
        return self.directory / "zookeeper.log"

    def launch(self) -> None:
        """Start the server without waiting for it."""
        jars = _jars()
        try:
            java = choose(os.environ)
        except NoJava as error:
            raise StackFailed(f"no ZooKeeper without Java: {error}; or {INSTEAD}") from None
        if self._any_port and not self._attempts:
            self.port = _free_port(self.host)
        self._attempts += 1
        self.directory.mkdir(parents=True, exist_ok=True)
        self._take_directory()
        configuration = self.directory / "zoo.cfg"
        configuration.write_text(
            f"tickTime={TICK_MS}\n"
            f"minSessionTimeout={SESSIONS_MS[0]}\n"
            f"maxSessionTimeout={SESSIONS_MS[1]}\n"
            f"dataDir={self._data}\n"
            f"clientPortAddress={self.host}\n"
            f"clientPort={self.port}\n"
            "admin.enableServer=false\n"
            "maxClientCnxns=0\n"
            "4lw.commands.whitelist=conf\n"
        )
        main = "org.apache.zookeeper.server.ZooKeeperServerMain"
        command = [str(java.home / "bin" / "java"), *OPTIONS, "-cp", jars, main, str(configuration)]
        with self.log.open("ab") as log:
            self.process = start_program(command, log.fileno(), log.fileno())

    def look(self) -> bool:
        """Whether the server answers. Raises StackFailed when it ended instead, and another start would not help."""
        assert self.process is not None, "launch() comes first"
        if self._answers():
            return True
        if self.process.poll() is not None:
            self._start_again()
        return False

    def wait_ready(self, timeout_s: float = READY_S) -> None:
        """Wait until the server answers. Raises StackFailed."""
        deadline = time.monotonic() + timeout_s
        while not self.look():
            if time.monotonic() > deadline:
                raise StackFailed(f"ZooKeeper did not answer at {self.hosts} within {timeout_s:.0f} s; see {self.log}")
            time.sleep(POLL_S)

    def _start_again(self) -> None:
        """The server ended: somebody else was faster and has its port, or had. Raises StackFailed in the end."""
        assert self.process is not None
        if self._attempts >= ATTEMPTS:
            said = self.log.read_text(errors="replace").strip().rpartition("\n")[2]
            reason = f"its last word in {self.log}: {said}" if _is_free(self.host, self.port) else "the port is taken"
            raise StackFailed(f"ZooKeeper at {self.hosts} ended with exit code {self.process.returncode}; {reason}")
        if self._any_port:
            self.port = _free_port(self.host)
        self.launch()

    def _answers(self) -> bool:
        """Whether this very server serves: another could have taken the port, so it is asked for its directory."""
        with suppress(OSError), socket.create_connection((self.host, self.port), ASKING_S) as connection:
            connection.sendall(b"conf")
            said = b"".join(iter(lambda: connection.recv(65_536), b""))
            return f"dataDir={self._data}/".encode() in said
        return False

    @property
    def _data(self) -> Path:
        return self.directory / "data"

    def _take_directory(self) -> None:
        """Keep others off its data. Raises StackFailed when somebody else has them."""
        if self._lock is not None:
            return
        lock = (self.directory / "lock").open("wb")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            raise StackFailed(f"{self.directory} is in use by another ZooKeeper; name another directory") from None
        self._lock = lock

    def kill(self) -> None:
        """kill -9. Its data stay. Killing twice is harmless."""
        if self.process is not None:
            end(self.process)
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def restart(self) -> None:
        """Kill the server if it runs, and start it on the same port and data. Raises StackFailed."""
        self.kill()
        self._any_port, self._attempts = False, 0
        self.launch()
        self.wait_ready()

    def __enter__(self) -> EmbeddedZooKeeper:
        try:
            self.launch()
            self.wait_ready()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()


def _jars() -> str:
    """The class path of the server. Raises StackFailed."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise StackFailed(f"ZooKeeper's server comes with PySpark, which is not installed: {INSTALL}")
    folder = Path(spec.origin).parent / "jars"
    found = [jar for name in JARS for jar in sorted(folder.glob(f"{name}-[0-9]*.jar"))]
    if not any(jar.name.startswith("zookeeper-") for jar in found):
        raise StackFailed(f"no ZooKeeper server in {folder}, where PySpark has its own: {INSTALL}")
    return os.pathsep.join(map(str, found))


def _free_port(host: str) -> int:
    """A free port below those that outgoing connections take: while the server is away, a client would meet itself."""
    outgoing = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = random.randrange(PORTS_FROM, max(outgoing, PORTS_FROM + 10_000))
        if _is_free(host, port):
            return port


def _is_free(host: str, port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True
