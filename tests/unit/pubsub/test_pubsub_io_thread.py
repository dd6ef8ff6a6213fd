"""The thread of a client asks the ring on behalf of the application."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chord.asking import Ring
from chord.effects import Operation, sleep
from chord.errors import LookupFailed
from pubsub.io_thread import IoThread
from pubsub.zones import least_loaded


@pytest.fixture
def io() -> Iterator[IoThread]:
    """One that runs, and knows of a node that is not there."""
    io = IoThread("test", ["127.0.0.1:1"], "ringcast", 0.2)
    io.start()
    yield io
    io.stop()


@pytest.mark.parametrize("pauses", [0, 2])
def test_what_an_operation_ends_with_is_returned(io: IoThread, pauses: int) -> None:
    """Also when it ends as it begins."""

    def count(_ring: Ring) -> Operation[int]:
        for _ in range(pauses):
            yield from sleep(0.001)
        return pauses

    assert io.run(count) == pauses


def test_the_error_of_an_operation_is_raised(io: IoThread) -> None:
    """Here, of a ring that does not answer."""
    with pytest.raises(LookupFailed, match=r"127\.0\.0\.1:1"):
        io.run(least_loaded)
