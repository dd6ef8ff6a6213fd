"""What waits for connections: no more than its limits, whoever it is for."""

from __future__ import annotations

import pytest

from chord import backlog
from chord.backlog import Backlog, Waiting


@pytest.fixture
def waiting(monkeypatch) -> Waiting:
    monkeypatch.setattr(backlog, "MAX_BACKLOG", 4)
    monkeypatch.setattr(backlog, "MAX_BACKLOG_BYTES", 100)
    monkeypatch.setattr(backlog, "MAX_BACKLOGS_BYTES", 150)
    return Waiting()


def test_a_backlog_has_a_limit_of_frames(waiting):
    """The fifth of four is not taken, and those before it stay in order."""
    queue = Backlog(waiting)

    assert [queue.add(b"%d" % number, float(number)) for number in range(5)] == [True] * 4 + [False]
    assert (queue.first(), queue.last_at(), len(queue)) == ((0.0, b"0"), 3.0, 4)


def test_a_backlog_has_a_limit_of_bytes(waiting):
    """One that would pass it is not taken; a smaller one still is, and what was sent makes room."""
    queue = Backlog(waiting)

    assert [queue.add(bytes(size), 0.0) for size in (60, 41, 40)] == [True, False, True]
    queue.drop_first()

    assert queue.add(bytes(60), 0.0)
    assert (queue.size, waiting.size) == (100, 100)


def test_all_backlogs_together_have_a_limit_of_bytes(waiting):
    """What waits for one peer is taken from what may wait for another, until it is given up."""
    one, other = Backlog(waiting), Backlog(waiting)
    assert one.add(bytes(100), 0.0)

    assert [other.add(bytes(size), 0.0) for size in (51, 50)] == [False, True]
    one.clear()

    assert not one
    assert other.add(bytes(50), 0.0)
    assert (one.size, other.size, waiting.size) == (0, 100, 100)
