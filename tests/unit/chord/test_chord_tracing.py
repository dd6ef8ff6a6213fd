"""Traces that cannot be written end with one line, and nothing else does."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import zmq

from chord import spool
from chord.errors import LocalProtocolError
from chord.process import NodeOptions, NodeProcess
from chord.sockets import bind, make_context, make_socket
from chord.trace import EventTrace
from chord.tracing import Tracing

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
    context = make_context()
    router = make_socket(context, zmq.ROUTER)
    port = bind(router, "127.0.0.1", 0)
    router.unbind(f"tcp://127.0.0.1:{port}")

    with pytest.raises(LocalProtocolError):
        NodeProcess(NodeOptions(**{"port": port, **options}))

    again = make_socket(context, zmq.ROUTER)
    assert bind(again, "127.0.0.1", port) == port
    context.destroy(linger=0)
