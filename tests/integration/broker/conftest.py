"""A real ZooKeeper for the tests of brokers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from broker.embedded import EmbeddedZooKeeper


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedZooKeeper]:
    """One server for all tests, each of which takes a cluster name of its own; who kills a server starts another."""
    with EmbeddedZooKeeper(tmp_path_factory.mktemp("zookeeper")) as server:
        yield server
