"""Whoever is asked, the owner of a name is the first node at or after its hash."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from broker.local_ring import LocalRing
from tests.integration.chord.rings import all_agree, member_id, owners_are_right

NODE_COUNTS = (1, 2, 3, 6, 16)
NAMES = [f"topic/{number}" for number in range(200)]


@pytest.fixture(scope="module")
def growing() -> Iterator[LocalRing]:
    with LocalRing() as ring:
        yield ring


@pytest.mark.parametrize("count", NODE_COUNTS)
def test_every_node_names_the_first_node_at_or_after_the_hash(growing, count):
    """200 names through each of N nodes: the owner is always the one computed from the addresses alone."""
    growing.grow(count - len(growing.nodes))
    addresses = growing.addresses()

    all_agree(growing)

    assert [node.identifier for node in growing.nodes] == [member_id(address) for address in addresses]
    for address in addresses:
        owners_are_right(address, addresses, NAMES)
