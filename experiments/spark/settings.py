"""The settings of a session: no user interface, no logs on the terminal, no files but in a temporary place."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from chord.errors import LocalProtocolError

DRIVER_MEMORY = "1g"
LARGE_DRIVER_MEMORY = "2g"

# The client compiler alone starts faster and costs little on small tables.
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto -XX:-UsePerfData"
LARGE = "-XX:+UseParallelGC -Xshare:auto -XX:-UsePerfData"

LOGGING = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
"""


def settings_of(master: str, scratch: Path, java_options: str, large: bool) -> dict[str, str]:
    """Spark's settings for a driver that keeps its files in `scratch`; `large` trades a quick start for a fast run."""
    log4j = scratch / "log4j2.properties"
    log4j.write_text(LOGGING)
    places = f"-Dlog4j2.configurationFile={log4j.as_uri()} -Djava.io.tmpdir={scratch}"
    return {
        "spark.master": master,
        "spark.app.name": "ringcast",
        "spark.driver.memory": LARGE_DRIVER_MEMORY if large else DRIVER_MEMORY,
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": f"{LARGE if large else QUICK} {java_options} {places}",
        "spark.local.dir": str(scratch),
        "spark.pyspark.python": sys.executable,
        "spark.pyspark.driver.python": sys.executable,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.sql.shuffle.partitions": "8" if large else "2",
        "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "8192",
        "spark.sql.parquet.pushdown.inFilterThreshold": "500",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
    }


def parse_conf(texts: Sequence[str]) -> dict[str, str]:
    """Settings as `--conf` has them, KEY=VALUE. Raises LocalProtocolError."""
    found = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.startswith("spark."):
            raise LocalProtocolError(
                f"--conf takes KEY=VALUE with a key of Spark, like spark.executor.memory=2g; not {text!r}"
            )
        found[key] = value
    return found
