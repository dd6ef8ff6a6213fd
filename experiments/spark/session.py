"""One quiet, local Spark session: no user interface, no logs on the terminal, no files but in a temporary place.

Start-up is most of a small analysis, so the options here trade peak speed for it. A caller that knows early that it
will need Spark starts it in a thread with `start` while it does something else.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from chord.errors import RingcastError
from experiments.spark.class_archive import option_to_use
from experiments.spark.java import Java, choose

DRIVER_MEMORY = "1g"
STOP_TIMEOUT_S = 10.0

# The client compiler alone starts faster and costs little on tables of this size.
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto -XX:-UsePerfData"

LOGGING = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
"""


class SparkFailed(RingcastError):
    """Spark did not start, or went away."""


def start(master: str = "local[2]", name: str = "ringcast", java_options: str | None = None) -> SparkSession:
    """Start a session, which takes seconds; `stop` must follow. One at a time in a process.

    `java_options` replaces the use of the class archive. Raises NoJava or SparkFailed.
    """
    scratch = Path(tempfile.mkdtemp(prefix="ringcast-spark-"))
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)  # when the process ends before `stop`
    try:
        java = choose(os.environ)
        more = option_to_use(java) if java_options is None else java_options
        return _start(_configuration(master, name, scratch, more), java, scratch)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise


def stop(spark: SparkSession, timeout_s: float = STOP_TIMEOUT_S) -> None:
    """Stop the session and the Java process behind it, and remove what it wrote. Stopping twice is harmless."""
    gateway = SparkContext._gateway
    scratch = spark.conf.get("spark.local.dir", "") if gateway is not None else ""
    with suppress(Py4JError, OSError):  # a Java that is gone already has stopped
        spark.stop()
    if gateway is not None:
        SparkContext._gateway = None
        SparkContext._jvm = None
        with suppress(Py4JError, OSError):
            gateway.shutdown()
        _end(gateway, timeout_s)
    if scratch:
        shutil.rmtree(scratch, ignore_errors=True)


def _start(configuration: SparkConf, java: Java, scratch: Path) -> SparkSession:
    log = scratch / "java.log"
    with _environment({"JAVA_HOME": str(java.home), **_interpreters()}), log.open("wb") as stderr:
        try:
            streams = {"stderr": stderr, "stdout": stderr}
            gateway = launch_gateway(configuration, popen_kwargs=streams)  # type: ignore[no-untyped-call]  # pyspark types it not
        except PySparkRuntimeError:
            said = _last_line(log)
            raise SparkFailed(
                f"Spark did not start on Java {java.version} (found by {java.found}, in {java.home}): {said}"
            ) from None
        try:
            return SparkSession(SparkContext(conf=configuration, gateway=gateway))
        except BaseException as error:
            _end(gateway, STOP_TIMEOUT_S)
            SparkContext._gateway = None
            SparkContext._jvm = None
            if isinstance(error, Exception):
                master = configuration.get("spark.master")
                raise SparkFailed(f"Spark did not start with master {master}: {_first_line(error)}") from None
            raise


class Starting:
    """A session that starts in the background: `get` waits for it, `stop` ends it whatever its state."""

    def __init__(self, master: str = "local[2]", name: str = "ringcast") -> None:
        self._started: Future[SparkSession] = Future()
        self._given_up = False
        Thread(target=self._run, args=(master, name), name="spark-start", daemon=True).start()

    def get(self) -> SparkSession:
        """The session. Raises NoJava or SparkFailed."""
        return self._started.result()

    def stop(self) -> None:
        """Stop the session; one that is still starting stops as soon as it has started, or with this process."""
        self._given_up = True
        if self._started.done() and self._started.exception() is None:
            stop(self._started.result())

    def _run(self, master: str, name: str) -> None:
        try:
            spark = start(master, name)
            _warm(spark)
        except BaseException as error:
            self._started.set_exception(error)
            return
        self._started.set_result(spark)
        if self._given_up:
            stop(spark)


def _warm(spark: SparkSession) -> None:
    """Have Java load what every query needs, which takes seconds the first time."""
    spark.range(8).selectExpr("id % 2 as k", "id").groupBy("k").sum("id").toArrow()


def _configuration(master: str, name: str, scratch: Path, java_options: str) -> SparkConf:
    logging = scratch / "log4j2.properties"
    logging.write_text(LOGGING)
    options = f"{JAVA_OPTIONS} {java_options} -Dlog4j2.configurationFile={logging.as_uri()}"
    settings = {
        "spark.master": master,
        "spark.app.name": name,
        "spark.driver.memory": DRIVER_MEMORY,
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": options,
        "spark.local.dir": str(scratch),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "8192",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
    }
    return SparkConf(loadDefaults=False).setAll(list(settings.items()))


def _interpreters() -> dict[str, str]:
    """Without these, Python workers run the first `python3` on PATH and miss this one's packages."""
    return {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables for the child process only."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _end(gateway: object, timeout_s: float) -> None:
    """Close the standard input of the Java process, which makes it leave, and see that it does."""
    process = getattr(gateway, "proc", None)
    if process is None:
        return
    with suppress(OSError):
        process.stdin.close()
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def _last_line(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"
