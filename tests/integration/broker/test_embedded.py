"""The embedded ZooKeeper: starts on a free port, keeps its data, says why it cannot start, and is never orphaned."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from broker.embedded import EmbeddedZooKeeper
from broker.errors import StackFailed
from tests.waiting import eventually

PARENT = """
import sys
from pathlib import Path
from broker.embedded import EmbeddedZooKeeper
with EmbeddedZooKeeper(Path(sys.argv[1])) as server:
    print(server.process.pid, server.port, flush=True)
    sys.stdin.read()
"""


@contextmanager
def connected(server: EmbeddedZooKeeper) -> Iterator[KazooClient]:
    client = KazooClient(server.hosts, timeout=2.0)
    client.start(timeout=20)
    try:
        yield client
    finally:
        client.stop()
        client.close()


def test_two_serve_side_by_side_and_keep_their_data(tmp_path: Path):
    """Each has a port and data of its own, which a kill -9 does not cost it."""
    with EmbeddedZooKeeper(tmp_path / "one") as one, EmbeddedZooKeeper(tmp_path / "two") as two:
        assert one.port != two.port
        with connected(one) as client:
            client.create("/kept", b"by one")

        port = one.port
        one.restart()

        assert one.port == port
        with connected(one) as client, connected(two) as other:
            assert client.get("/kept")[0] == b"by one"
            assert not other.exists("/kept")


def test_a_taken_port_is_said(tmp_path: Path):
    """A port that somebody listens on, who is not taken for the server."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(StackFailed, match=rf"127\.0\.0\.1:{port} ended with exit code 1; the port is taken"):
            EmbeddedZooKeeper(tmp_path, port).__enter__()


def test_another_port_is_taken_when_somebody_was_faster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The port that was chosen is taken before the server listens on it: it starts on another."""
    from broker import embedded

    with socket.create_server(("127.0.0.1", 0)) as taken:
        ports = iter([taken.getsockname()[1], embedded._free_port("127.0.0.1")])
        monkeypatch.setattr(embedded, "_free_port", lambda _host: next(ports))

        with EmbeddedZooKeeper(tmp_path) as server, connected(server) as client:
            assert server.port != taken.getsockname()[1]
            assert client.exists("/zookeeper")


def test_a_directory_that_does_not_do_is_said(tmp_path: Path):
    """The last word of the server is part of the error."""
    (tmp_path / "data").write_text("not a folder")

    with pytest.raises(StackFailed, match=r"ended with exit code \d+; its last word in .*zookeeper\.log: \S"):
        EmbeddedZooKeeper(tmp_path).__enter__()


def test_without_pyspark_the_remedy_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The error names what to install, and what to do without it."""
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)

    with pytest.raises(StackFailed, match=r"PySpark.*pip install 'ringcast\[brokers,analysis\]'.*--zookeeper HOSTS"):
        EmbeddedZooKeeper(tmp_path).__enter__()


def test_without_java_the_remedy_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The error says where Java was looked for."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("broker.java._wheel_home", lambda: None)

    with pytest.raises(StackFailed, match=r"no ZooKeeper without Java: .*PATH has none.*--zookeeper HOSTS"):
        EmbeddedZooKeeper(tmp_path).__enter__()


def test_it_ends_with_its_parent(tmp_path: Path):
    """kill -9 of the process that started it ends the server, which has said nothing on its terminal."""
    command = [sys.executable, "-c", PARENT, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stderr is not None
        process, port = map(int, parent.stdout.readline().split())
        assert os.path.exists(f"/proc/{process}")

        parent.kill()

        assert (parent.stdout.read(), parent.stderr.read()) == (b"", b"")
    eventually(lambda: not is_running(process), 5, "the server ends")
    eventually(lambda: is_refused(port), 5, "nobody listens")


def is_refused(port: int) -> bool:
    """Whether nobody listens there; the threads of a process that was killed end one by one."""
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:
        pass
    return False


def is_running(process: int) -> bool:
    """Whether a process does anything yet; one that nobody waited for does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
