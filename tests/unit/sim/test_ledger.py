"""The ledger of a chaos run: what a read may find, given what was acknowledged when it began."""

from __future__ import annotations

import pytest

from chord.messages import Entry
from sim.ledger import Ledger

PLACE = "name", "a"


def found(version: int, value: bytes) -> list[Entry]:
    return [Entry("name", "a", version, value, 60.0)]


@pytest.fixture
def ledger() -> Ledger:
    """Version 1 is acknowledged, version 2 is not."""
    made = Ledger()
    made.acknowledge(PLACE, made.write(PLACE, b"one"))
    made.write(PLACE, b"two")
    return made


@pytest.mark.parametrize("read", [found(1, b"one"), found(2, b"two")])
def test_what_was_acknowledged_or_may_have_happened_is_in_order(ledger, read):
    """A read finds the last acknowledged version, or a later one whose outcome nobody knows."""
    assert ledger.judge(ledger.promised("name"), read) == []


@pytest.mark.parametrize(
    ("read", "fault"),
    [
        ([], "is gone; version 1 was acknowledged"),
        (found(3, b"three"), "has version 3; 2 is the last that was written"),
        (found(2, b"one"), "has b'one' as version 2, not b'two'"),
        ([Entry("name", "b", 1, b"", 60.0)], "was never written"),
    ],
)
def test_what_cannot_be_is_a_fault(ledger, read, fault):
    """Missing, never written, or another value than was written: each is said."""
    assert any(fault in one for one in ledger.judge(ledger.promised("name"), read))


def test_a_read_that_falls_behind_is_a_fault(ledger):
    """A read that begins after version 2 was acknowledged does not find version 1."""
    ledger.acknowledge(PLACE, 2)

    assert "has version 1; version 2 was acknowledged" in ledger.judge(ledger.promised("name"), found(1, b"one"))[0]


def test_what_was_deleted_does_not_come_back(ledger):
    """After a deletion was acknowledged, a version of before it is a fault, and nothing there is in order."""
    ledger.acknowledge(PLACE, ledger.write(PLACE, None))
    promised = ledger.promised("name")

    assert ledger.judge(promised, []) == []
    assert ledger.judge(promised, found(2, b"two"))


def test_a_deletion_that_failed_may_have_happened(ledger):
    """Nothing is surely there any more, and what is there still is in order."""
    ledger.write(PLACE, None)

    assert ledger.judge(ledger.promised("name"), []) == []
    assert ledger.judge(ledger.promised("name"), found(1, b"one")) == []


def test_what_was_acknowledged_last_must_not_be_lost(ledger):
    """A deletion too, for without it what was there before would come back; not what failed."""
    ledger.write(PLACE, b"two")
    assert ledger.acknowledged_versions() == {PLACE: 1}

    ledger.acknowledge(PLACE, ledger.write(PLACE, None))
    assert ledger.acknowledged_versions() == {PLACE: 4}
