"""Traces that cannot be written end with one line, and nothing else does."""

from __future__ import annotations

import shutil
import socket
from contextlib import suppress
from pathlib import Path

import pytest
import zmq

from chord import spool
from chord.errors import LocalProtocolError
from chord.process import NodeOptions, NodeProcess
from chord.sockets import Socket, bind, make_context, make_socket
from chord.trace import EventTrace
from chord.tracing import Tracing
from tests.waiting import eventually

ROW = EventTrace(kind="ready", node=1, address="n1:1", at_us=1)


def test_a_disk_that_is_full_ends_the_traces(tmp_path, capfd, monkeypatch):
    """One line says what is over and what is not; what is traced after that is dropped."""
    monkeypatch.setattr(spool, "FLUSH_SECONDS", 0.0)
    tracing = Tracing(tmp_path, "node-n1:1", "the node goes on")
    tracing._spool._file.close()
    tracing._spool._file = Path("/dev/full").open("wb")  # noqa: SIM115 (closed by what is under test)

    for _ in range(3):
        tracing.append(ROW)
        tracing.flush_if_due()
    tracing.close()

    said = "warning: the traces of node-n1:1 end here: No space left on device; the node goes on\n"
    assert capfd.readouterr().err == said
    assert not tracing.on


def test_a_directory_that_goes_away_ends_the_traces(tmp_path, capfd):
    """At the latest when the file is to be given its last name."""
    tracing = Tracing(tmp_path / "traces", "client", "its answers do not")
    shutil.rmtree(tmp_path / "traces")

    tracing.append(ROW)
    tracing.close()
    tracing.close()

    assert capfd.readouterr().err.count("warning: the traces of client end here: No such file or directory") == 1


@pytest.mark.parametrize(
    "options",
    [{"advertise": "*"}, {"trace": Path("/dev/null")}, {"host": "0.0.0.0"}],
    ids=lambda options: next(iter(options)),
)
def test_a_node_that_cannot_start_gives_its_port_back(options):
    """Whatever keeps it from starting after it has bound."""
    port = unused_port()
    context = make_context()
    router = make_socket(context, zmq.ROUTER)

    with pytest.raises(LocalProtocolError):
        NodeProcess(NodeOptions(**{"port": port, **options}))

    assert eventually(lambda: can_bind(router, port))
    context.destroy(linger=0)


def unused_port() -> int:
    """A port below those that the system hands out, so that nobody else is given it meanwhile."""
    for port in range(21_000, 29_000):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("every port from 21000 to 28999 is in use")


def can_bind(router: Socket, port: int) -> bool:
    """Whether the port is free; libzmq gives one back a moment after its socket was closed."""
    with suppress(LocalProtocolError):
        return bind(router, "127.0.0.1", port) == port
    return False
