"""The Java process that Spark runs in: in a process group of its own, and gone at once when it is killed, in any state.

pyspark can start it too, but hands it over only once it answers; until then nobody could end it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

import pyspark
from py4j.java_gateway import JavaGateway
from pyspark.java_gateway import launch_gateway
from pyspark.serializers import UTF8Deserializer, read_int

from broker.java import Java
from chord.errors import RingcastError

SPARK_HOME = Path(pyspark.__file__).parent
POLL_S = 0.05


class SparkFailed(RingcastError):
    """Spark did not start, or went away."""


class JavaProcess:
    """At most one Java process, which writes its log and its temporary files into `scratch`.

    It inherits the descriptors `inherited`: a lock among them is held until it has ended as well.
    """

    def __init__(self, scratch: Path, inherited: Sequence[int] = ()) -> None:
        self._scratch = scratch
        self._inherited = inherited
        self._lock = Lock()
        self._killed = False
        self._process: subprocess.Popen[bytes] | None = None

    def launch(self, settings: Mapping[str, str], java: Java) -> JavaGateway:
        """Start it and connect to it, which takes a second or two. Raises SparkFailed, also when it is killed."""
        answer = self._scratch / "gateway"
        process = self._start(settings, java, answer)
        while not answer.exists():
            if process.poll() is not None:
                raise SparkFailed(
                    f"Spark did not start on Java {java.version} (found by {java.found}, in {java.home}): "
                    f"{_last_line(self._log)}"
                )
            time.sleep(POLL_S)
        with answer.open("rb") as file:
            port, secret = read_int(file), UTF8Deserializer().loads(file)  # type: ignore[no-untyped-call]  # pyspark types neither
        with _environment({"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}):
            return launch_gateway()  # type: ignore[no-untyped-call]  # likewise

    def end(self, timeout_s: float) -> None:
        """Close its standard input, upon which it ends by itself; kill it if it does not within `timeout_s`."""
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout_s)
        self.kill()

    def kill(self) -> None:
        """kill -9 it and what it started, and let none be started from now on. Killing twice is harmless."""
        with self._lock:
            self._killed = True
        if self._process is None:
            return
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()

    @property
    def _log(self) -> Path:
        return self._scratch / "java.log"

    def _start(self, settings: Mapping[str, str], java: Java, answer: Path) -> subprocess.Popen[bytes]:
        """Start Spark's own script, which becomes the Java process. Java writes where it listens into `answer`."""
        command = [str(SPARK_HOME / "bin" / "spark-submit")]
        for name, value in settings.items():
            command += ["--conf", f"{name}={value}"]
        environment = {
            **os.environ,
            "JAVA_HOME": str(java.home),
            "SPARK_HOME": str(SPARK_HOME),
            "SPARK_CONNECT_MODE": "0",
            "_PYSPARK_DRIVER_CONN_INFO_PATH": str(answer),
        }
        with self._lock, self._log.open("wb") as log:
            if self._killed:
                raise SparkFailed("Spark did not start: it was told to stop")
            self._process = subprocess.Popen(
                [*command, "pyspark-shell"],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                process_group=0,
                pass_fds=self._inherited,
            )
        return self._process


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables, none of which was set, for a while."""
    os.environ.update(values)
    try:
        yield
    finally:
        for name in values:
            del os.environ[name]


def _last_line(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"
