"""`ringcast up` as a person runs it: what it prints works, what dies is said, and nothing outlives it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from broker.embedded import EmbeddedZooKeeper
from broker.processes import read_line
from tests.descendants import alive, descendants
from tests.waiting import eventually

GONE_S = 2.0
SMALL = ["--nodes", "1", "--zones", "1", "--replicas", "1"]


@contextmanager
def up(tmp_path: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """`ringcast up` under way, with temporary files of its own."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    command = [sys.executable, "-m", "broker.cli", "up", *arguments]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with subprocess.Popen(
        command, bufsize=0, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def processes_of(told: dict[str, Any]) -> set[int]:
    return {each["process"] for each in [*told["nodes"], *told["brokers"]]}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_outlives_it(tmp_path: Path, number: signal.Signals) -> None:
    """However it ends, within two seconds every process is gone; told to end, it says nothing and leaves no file."""
    with up(tmp_path, *SMALL, "--json") as process:
        told = json.loads(read_line(process))
        below = descendants(process.pid)
        assert len(below) == 3
        assert processes_of(told) < set(below)

        process.send_signal(number)

        eventually(lambda: not any(map(alive, [process.pid, *below])), GONE_S, "everything is gone")
        assert process.wait() == (-number if number == signal.SIGKILL else 0)
        assert process.stderr is not None
        assert process.stderr.read() == b""
    if number != signal.SIGKILL:
        assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_nothing_outlives_an_interrupted_start(tmp_path: Path, number: signal.Signals, code: int) -> None:
    """Interrupted while its processes are starting."""
    with up(tmp_path, *SMALL) as process:
        below = eventually(lambda: descendants(process.pid)[1:] and descendants(process.pid))

        process.send_signal(number)
        process.send_signal(number)

        assert process.communicate(timeout=20) == (b"", b"")
        assert process.returncode == code
        assert not any(map(alive, below))
    assert list((tmp_path / "tmp").iterdir()) == []


def test_what_it_prints_works_and_who_dies_is_said(tmp_path: Path) -> None:
    """Its lines, pasted into a shell, publish and subscribe through a zone, also after the primary was killed."""
    with up(tmp_path, "--nodes", "2", "--zones", "1", "--replicas", "2", "--session", "1") as process:
        lines = [read_line(process)]
        while lines[-1] != "Ctrl-C ends all of it.":
            lines.append(read_blank(process))
        export, subscribe, publish, zones, lookup = lines[lines.index("In another terminal:") + 1 : -2]
        assert lines[0].startswith("2 ring nodes, ZooKeeper at 127.0.0.1:")
        # The two are pasted one after the other; what was published before the subscriber was there is not for it.
        again = f"while kill -0 $!; do {publish} --timeout 5 || true; done 2>/dev/null"
        through = [f"{subscribe} --count 1 &", again, "wait $!"]

        def paste(*commands: str) -> str:
            script = "\n".join(
                [
                    "set -e",
                    f'ringcast() {{ {sys.executable} -m broker.cli "$@"; }}',
                    f'dht() {{ {sys.executable} -m chord.cli "$@"; }}',
                    export,
                    *commands,
                ]
            )
            done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=False)
            assert done.returncode == 0, done.stderr
            return done.stdout

        assert paste(*through).endswith("departed\n")
        assert "zone-1" in paste(zones)
        assert "owner" in paste(lookup)

        primary = json.loads(paste(f"{zones} --json"))["zone-1"]["primary"]
        (victim,) = [line.rpartition(" ")[2] for line in lines if line.startswith(f"zone-1  {primary}  process ")]
        os.kill(int(victim), signal.SIGKILL)

        assert process.stderr is not None
        said = process.stderr.readline().decode()
        assert said == f"the broker at {primary} of zone-1 was killed by signal 9; the rest goes on\n"
        eventually(lambda: json.loads(paste(f"{zones} --json"))["zone-1"]["primary"] != primary)
        assert paste(*through).endswith("departed\n")


def read_blank(process: subprocess.Popen[bytes]) -> str:
    """The next line, which may be empty."""
    assert process.stdout is not None
    return process.stdout.readline().decode().strip()


def test_a_zookeeper_that_runs_already_is_used(tmp_path: Path, zookeeper: EmbeddedZooKeeper) -> None:
    """No other is started, and the one that is used goes on."""
    with up(tmp_path, *SMALL, "--zookeeper", zookeeper.hosts, "--json") as process:
        told = json.loads(read_line(process))
        below = descendants(process.pid)

        assert told["zookeeper"] == zookeeper.hosts
        assert set(below) == processes_of(told)
        process.terminate()
        assert process.wait(20) == 0
    assert zookeeper.process is not None
    assert zookeeper.process.poll() is None


def test_what_keeps_it_from_starting_is_one_line(tmp_path: Path) -> None:
    """The port of the first node is taken: exit code 1, and nothing is left."""
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        up(tmp_path, "--port", str(taken.getsockname()[1])) as process,
    ):
        said = process.communicate(timeout=60)[1].decode()

        assert process.returncode == 1
        assert said.startswith("error: ")
        assert f"{taken.getsockname()[1]}" in said
        assert said.count("\n") == 1
    assert list((tmp_path / "tmp").iterdir()) == []
