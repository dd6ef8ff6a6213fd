"""One Spark session for every test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from experiments.spark.session import Session


@pytest.fixture(scope="session")
def spark() -> Iterator[Session]:
    """Its start takes longer than most tests."""
    with Session("local[2]") as session:
        yield session
