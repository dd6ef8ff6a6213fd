"""Slow: a node that stands still for longer than anybody waits. Run it by name: `pytest tests/campaign`."""

from __future__ import annotations

import signal
import time

from broker.local_ring import LocalRing
from tests.integration.chord.rings import agrees, all_agree
from tests.waiting import eventually


def test_a_node_stopped_for_long_is_let_back_in():
    """Replies that come after everybody gave up on them do not pass for later ones, however many there are."""
    with LocalRing() as ring:
        stop_for_long(ring)


def stop_for_long(ring: LocalRing) -> None:
    ring.grow(4)
    all_agree(ring)
    stopped = ring.nodes[1]
    others = [address for address in ring.addresses() if address != stopped.address]

    stopped.process.send_signal(signal.SIGSTOP)
    started = time.monotonic()
    try:
        for address in others:
            agrees(address, others)
        # Longer than the driver waits for a reply before it stops polling for it.
        eventually(lambda: time.monotonic() - started > 13.0, 30.0)
    finally:
        stopped.process.send_signal(signal.SIGCONT)

    all_agree(ring)
