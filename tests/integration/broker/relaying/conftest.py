"""One ring and one ZooKeeper for all tests of a module, each of which has zones of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.integration.broker.zones import Ground, Zone


@pytest.fixture(scope="module")
def ground() -> Iterator[Ground]:
    with Ground() as ground:
        yield ground


@pytest.fixture
def new_zone(ground: Ground) -> Iterator[Callable[[], Zone]]:
    """Makes zones without brokers, which end with the test."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(Zone(ground))


@pytest.fixture
def zone(new_zone: Callable[[], Zone]) -> Zone:
    """A zone without a broker yet."""
    return new_zone()
