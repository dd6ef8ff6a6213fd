"""What tests of operations run in."""

from __future__ import annotations

import pytest

from tests.unit.chord.worlds import World


@pytest.fixture
def world() -> World:
    return World()
