"""A ring to publish through, as real processes."""

from __future__ import annotations

import itertools
import subprocess
import sys
from contextlib import ExitStack

import pytest

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
