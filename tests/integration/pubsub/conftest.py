"""A ring to publish through, as real processes."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
import sys
from contextlib import ExitStack, suppress

import pytest

COMMAND = [sys.executable, "-m", "broker.cli"]
WAIT_S = 60

_numbers = itertools.count(1)


def start_node(stack, *arguments):
    """Start a ring node and wait until it is ready; returns the process and its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "chord.cli", "join", *arguments], stdout=subprocess.PIPE, text=True
    )

    def stop():
        process.kill()
        process.communicate()

    stack.callback(stop)
    line = process.stdout.readline()
    assert line.startswith("ready "), f"the ring node said {line!r}"
    return process, line.split()[1]


@pytest.fixture(scope="session")
def via():
    """The address of a ring of one node, in a list."""
    with ExitStack() as stack:
        yield [start_node(stack)[1]]


@pytest.fixture
def topic():
    """A topic that no other test uses."""
    return f"topic-{next(_numbers)}"


@pytest.fixture
def start_ring():
    """Starts the nodes of a ring, each with the one before as its bootstrap; killed in the end."""
    with ExitStack() as stack:

        def start(count, *arguments):
            nodes = []
            for _ in range(count):
                nodes.append(start_node(stack, *arguments, *(("--bootstrap", nodes[0][1]) if nodes else ())))
            return nodes

        yield start


@pytest.fixture
def ringcast(via):
    """Runs `ringcast` to its end, with the ring in the environment."""

    def run(*arguments, stdin=b"", environment=None):
        return subprocess.run(
            [*COMMAND, *arguments],
            input=stdin,
            capture_output=True,
            timeout=WAIT_S,
            env={**os.environ, "RINGCAST_VIA": via[0], **(environment or {})},
            check=False,
        )

    return run


@pytest.fixture
def start(via):
    """Starts `ringcast` and waits for its first line on stderr; killed in the end."""
    started = []

    def begin(*arguments, stdin=subprocess.DEVNULL, first=b"subscribed to"):
        process = subprocess.Popen(
            [*COMMAND, *arguments],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "RINGCAST_VIA": via[0]},
        )
        started.append(process)
        if first:
            assert process.stderr.readline().startswith(first)
        return process

    yield begin
    for process in started:
        process.kill()
        process.wait(WAIT_S)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()


@pytest.fixture
def unused_ports():
    """Finds the first of so many ports in a row that nobody listens on."""

    def find(count):
        for first in range(20_000, 30_000, count):
            with ExitStack() as stack:
                try:
                    for port in range(first, first + count):
                        stack.enter_context(socket.create_server(("127.0.0.1", port)))
                except OSError:
                    continue
            return first
        raise AssertionError("no port is free")

    return find
