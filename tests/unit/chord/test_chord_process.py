"""A node process says what takes too long; it never reports what it did not see."""

from __future__ import annotations

import pytest

from chord import process
from chord.effects import sleep
from chord.errors import LookupFailed
from chord.process import NodeOptions, NodeProcess


@pytest.fixture
def node():
    made = NodeProcess(NodeOptions())
    yield made
    made._driver.close()
    made._context.destroy(linger=0)


def test_what_takes_too_long_is_named(node):
    """Address, what, and how long it was given."""
    with pytest.raises(LookupFailed, match=rf"^{node.address}: joining took longer than 0 s$"):
        node._finish("joining", sleep(60.0), 0.2)


def test_a_node_that_is_stopped_is_no_failure(node):
    """A stop request ends the waiting with nothing."""
    node.stop()

    assert node._finish("joining", sleep(60.0), 5.0) is None


def test_a_ring_that_cannot_be_walked_in_time_is_not_reported_ready(monkeypatch):
    """`ready ... members=0` is never said."""
    monkeypatch.setattr(process, "JOIN_PATIENCE_S", 0.3)
    made = NodeProcess(NodeOptions())
    made.host.walk = lambda: sleep(60.0)
    said = []

    told = []

    def say(text: str) -> None:
        told.append(text)
        made.stop()

    made.run(said.append, say)

    assert said == []
    assert told == [f"{made.address}: walking the ring took longer than 0 s; trying again"]


def test_leaving_has_its_time_and_is_no_failure(monkeypatch):
    """Whoever stops a node does not wait for neighbours that are gone."""
    monkeypatch.setattr(process, "LEAVE_PATIENCE_S", 0.2)
    made = NodeProcess(NodeOptions())
    made.host.leave = lambda: sleep(60.0)
    told = []

    made.run(lambda _members: made.stop(), told.append)

    assert told == [f"{made.address} left before others had taken all of its records: leaving took longer than 0 s"]
