"""Slow: 40 real nodes. Run it by name: `pytest tests/campaign`."""

from __future__ import annotations

import pytest

from broker.local_ring import LocalRing
from tests.integration.chord.rings import all_agree, member_id, owners_are_right
from tests.integration.chord.test_chord_owners import NAMES


@pytest.mark.timeout(600)
def test_forty_nodes_name_the_right_owners():
    """200 names through each of 40 nodes: the owner is always the one computed from the addresses alone."""
    with LocalRing() as ring:
        while len(ring.nodes) < 40:
            ring.grow(min(10, 40 - len(ring.nodes)))
        addresses = ring.addresses()

        all_agree(ring, timeout_s=120.0)

        assert [node.identifier for node in ring.nodes] == [member_id(address) for address in addresses]
        for address in addresses:
            owners_are_right(address, addresses, NAMES)
