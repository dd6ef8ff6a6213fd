"""Slow: a node that stands still for longer than anybody waits. Run it by name: `pytest tests/campaign`."""

from __future__ import annotations

import signal
import time

import pytest

from broker.local_ring import LocalRing
from chord.client import RingClient
from tests.integration.chord.rings import agrees, all_agree
from tests.waiting import eventually

LEASE_S = 600.0


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


@pytest.mark.timeout(300)
def test_a_node_stopped_for_a_minute_finds_its_place_and_brings_nothing_old_back():
    """What was put, changed and deleted meanwhile is found as it is through every node, the resumed one too."""
    with LocalRing() as ring:
        ring.grow(5)
        all_agree(ring)
        stopped = ring.nodes[2]
        others = [address for address in ring.addresses() if address != stopped.address]
        names = [f"record {number}" for number in range(60)]
        expected: dict[str, bytes | None] = {}
        with RingClient(others) as client:
            for name in names[:40]:
                client.put(name, "e", b"before", LEASE_S)
                expected[name] = b"before"

            stopped.process.send_signal(signal.SIGSTOP)
            began = time.monotonic()
            try:
                for address in others:
                    agrees(address, others)
                for position, name in enumerate(names):
                    if position % 4 == 1 and name in expected:
                        client.delete(name, "e")
                        expected[name] = None
                    elif position % 4 != 2:
                        client.put(name, "e", b"meanwhile", LEASE_S)
                        expected[name] = b"meanwhile"
                eventually(lambda: time.monotonic() - began > 60.0, 90.0)
            finally:
                stopped.process.send_signal(signal.SIGCONT)

        all_agree(ring)
        for address in ring.addresses():
            with RingClient([address], patience_s=20.0) as client:
                found = {name: [entry.value for entry in client.get(name)] for name in names}
            assert found == {name: [expected[name]] if expected.get(name) else [] for name in names}
        assert stopped.process.poll() is None
        assert stopped.errors.read_text() == ""
