"""Rings that several tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from broker.local_ring import LocalRing
from tests.integration.chord.rings import all_agree


@pytest.fixture(scope="session")
def six() -> Iterator[LocalRing]:
    """A ring of six nodes, for tests that leave it as they found it."""
    with LocalRing() as ring:
        ring.grow(6)
        all_agree(ring)
        yield ring
        all_agree(ring)


@pytest.fixture
def ring() -> Iterator[LocalRing]:
    """An empty ring of a test's own; its nodes end with the test."""
    with LocalRing() as ring:
        yield ring
