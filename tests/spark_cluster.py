"""A Spark standalone cluster on this machine: a master and workers, as PySpark's jars bring them, on loopback."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from broker.java import choose
from experiments.spark.java_process import SPARK_HOME

HOST = "127.0.0.1"
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"


@contextmanager
def standalone(workers: int, folder: Path, deadline_s: float) -> Iterator[str]:
    """The URL of a master that so many workers of one core have joined; all of them are ended by their ids."""
    port = _free_port()
    url = f"spark://{HOST}:{port}"
    with ExitStack() as stack:
        log = stack.enter_context(_started(folder / "master", MASTER, "--port", str(port), "--webui-port", "0"))
        _wait_for(log, "I have been elected leader", 1, deadline_s)
        for number in range(workers):
            place = folder / f"worker-{number}"
            resources = ("--cores", "1", "--memory", "1g", "--webui-port", "0", "--work-dir", str(place / "work"))
            stack.enter_context(_started(place, WORKER, *resources, url))
        _wait_for(log, "Registering worker", workers, deadline_s)
        yield url


@contextmanager
def _started(place: Path, name: str, *arguments: str) -> Iterator[Path]:
    """One Java process of Spark in a process group of its own, and the file that its log goes to."""
    place.mkdir(parents=True)
    log = place / "log"
    environment = {
        **os.environ,
        "JAVA_HOME": str(choose(os.environ).home),
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": HOST,  # else the web pages listen everywhere
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_LOCAL_DIRS": str(place),
    }
    command = [str(SPARK_HOME / "bin" / "spark-class"), name, "--host", HOST, *arguments]
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, env=environment, process_group=0, cwd=place)
    try:
        yield log
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait_for(log: Path, text: str, times: int, deadline_s: float) -> None:
    until = time.monotonic() + deadline_s
    while log.read_text(errors="replace").count(text) < times:
        if time.monotonic() > until:
            raise AssertionError(f"no {text!r} {times} times within {deadline_s} s: {log.read_text()[-2000:]}")
        time.sleep(0.05)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port
