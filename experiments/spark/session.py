"""One quiet, local Spark session: no user interface, no logs on the terminal, no files but in a temporary place.

Start-up is most of a small analysis, so the options here trade peak speed for it, and the session starts in a thread
while its owner does something else.
"""

from __future__ import annotations

import atexit
import logging
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from types import TracebackType

from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from broker.java import choose
from broker.scratch import Scratch
from experiments.spark.class_archive import option_to_use
from experiments.spark.java_process import JavaProcess, SparkFailed
from experiments.spark.settings import settings_of

STOP_TIMEOUT_S = 10.0

# py4j logs through the root logger that a Java does not answer, with a traceback; whoever called it is told anyway.
NO_LOG = logging.NullHandler()


class Session:
    """A session that starts in the background: `get` waits for it, `stop` and `kill` end it whatever its state.

    As a context manager it stops at the end, and is killed when an exception (Ctrl-C among them) ends the block.
    One at a time in a process. `java_options` replaces the use of the class archive; `conf` adds settings of Spark, or
    replaces ours; `large` is for data whose reading takes longer than the start; `inherited` are descriptors that Java
    is to hold as well.
    """

    def __init__(
        self,
        master: str = "local[2]",
        java_options: str | None = None,
        conf: Mapping[str, str] | None = None,
        large: bool = False,
        inherited: Sequence[int] = (),
    ) -> None:
        logging.getLogger().addHandler(NO_LOG)
        self._scratch = Scratch("spark")
        self._java = JavaProcess(self._scratch.path, (*inherited, self._scratch.lock))
        self._started: Future[SparkSession] = Future()
        self._thread = Thread(
            target=self._run, args=(master, java_options, conf or {}, large), name="spark-start", daemon=True
        )
        atexit.register(self.kill)  # whatever happens before a `with` block is entered
        self._thread.start()

    def get(self) -> SparkSession:
        """The session. Raises NoJava or SparkFailed."""
        return self._started.result()

    def stop(self, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """Stop the session and its Java process, and remove what they wrote; one that still starts is killed."""
        try:
            if self._started.done() and self._started.exception() is None:
                with suppress(Py4JError, OSError):  # a Java that is gone already has stopped
                    self._started.result().stop()
                if SparkContext._gateway is not None:
                    with suppress(Py4JError, OSError):
                        SparkContext._gateway.shutdown()
                self._java.end(timeout_s)
        finally:
            self.kill()

    def kill(self) -> None:
        """End Java and the thread that talks to it at once, and remove what they wrote. Twice is harmless."""
        self._java.kill()
        if self._thread.ident is not None:
            self._thread.join()
        SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
        SparkSession._instantiatedSession = None
        self._scratch.cleanup()
        atexit.unregister(self.kill)

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.stop()
        else:
            self.kill()

    def _run(self, master: str, java_options: str | None, conf: Mapping[str, str], large: bool) -> None:
        try:
            java = choose(os.environ)
            options = option_to_use(java) if java_options is None else java_options
            settings = {**settings_of(master, self._scratch.path, options, large), **conf}
            spark = _connected(self._java.launch(settings, java), settings)
        except BaseException as error:
            self._started.set_exception(error)
        else:
            self._started.set_result(spark)


def _connected(gateway: JavaGateway, settings: dict[str, str]) -> SparkSession:
    """A session that has loaded what every query needs. Raises SparkFailed."""
    configuration = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    # The setting is for spark-submit alone: a context asks the environment which Python its workers are, or takes any.
    os.environ.setdefault("PYSPARK_PYTHON", settings["spark.pyspark.python"])
    try:
        spark = SparkSession(SparkContext(conf=configuration, gateway=gateway))
        _warm(spark)
    except Exception as error:
        raise SparkFailed(f"Spark did not start with master {settings['spark.master']}: {_first_line(error)}") from None
    return spark


def _warm(spark: SparkSession) -> None:
    """Have Java load what every query needs, which takes seconds the first time."""
    spark.range(8).selectExpr("id % 2 as k", "id").groupBy("k").sum("id").toArrow()


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
