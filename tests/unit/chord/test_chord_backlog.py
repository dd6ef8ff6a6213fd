"""What waits for connections: no more than its limits, whoever it is for."""

from __future__ import annotations

import pytest

from chord import backlog
from chord.backlog import Backlog, Waiting


@pytest.fixture
def waiting(monkeypatch) -> Waiting:
    monkeypatch.setattr(backlog, "MAX_BACKLOG", 4)
    monkeypatch.setattr(backlog, "MAX_BACKLOG_BYTES", 100)
    monkeypatch.setattr(backlog, "MAX_BACKLOGS_BYTES", 200)
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
    """What waits for some peers is taken from what may wait for another, until it is given up."""
    one, two, three = Backlog(waiting), Backlog(waiting), Backlog(waiting)
    assert one.add(bytes(100), 0.0)
    assert two.add(bytes(50), 0.0)

    assert [three.add(bytes(size), 0.0) for size in (51, 50, 1)] == [False, True, False]
    one.clear()

    assert not one
    assert [two.add(b"", 0.0), three.add(b"", 0.0)] == [True, True]
    assert (one.size, two.size, three.size, waiting.size) == (0, 50, 50, 100)


def test_what_waits_for_the_dead_leaves_room_for_the_living(waiting):
    """Ten peers, for each of whom there is always more to send: the first frame for another is still taken."""
    for dead in [Backlog(waiting) for _ in range(10)]:
        for _ in range(4):
            dead.add(bytes(9), 0.0)

    assert Backlog(waiting).add(bytes(10), 0.0)
