"""Finger table and routes against a dumb second implementation. Stoica et al. 2003, table I."""

from __future__ import annotations

import pytest

from chord.fingers import FingerTable, Routes
from chord.identifiers import IdentifierSpace
from tests.unit.chord.worlds import pointer

SPACE = IdentifierSpace(6)
ME = pointer(8)
RING = [pointer(identifier) for identifier in (1, 8, 14, 21, 32, 38, 42, 48, 51, 56)]


def owner(key: int):
    return min(RING, key=lambda each: (each.id - key) % 64)


def filled() -> FingerTable:
    table = FingerTable(ME, SPACE)
    while (due := table.next_start()) is not None:
        table.fill(due[0], owner(due[1]))
    return table


def test_the_fingers_of_the_paper():
    """Node 8 of the paper's ring of ten in 6 bits points at 14, 32 and 42 (figure 4 of the 2003 paper)."""
    table = filled()

    assert [finger.id for finger in table._fingers] == [14, 14, 14, 21, 32, 42]
    assert [finger.id for finger in table] == [14, 21, 32, 42]


def test_one_answer_fills_what_it_covers():
    """The owner of start 9 is 14, six steps away: it owns the starts 9, 10 and 12 as well."""
    table = FingerTable(ME, SPACE)

    assert table.fill(0, pointer(14)) == 3
    assert table.next_start() == (3, 16)


def test_starts_wrap_around():
    """Starts are taken modulo the size of the circle."""
    table = FingerTable(pointer(56), SPACE)
    table.fill(0, pointer(1))

    assert table.next_start() == (4, 8)
    assert SPACE.finger_start(56, 3) == 0


def test_a_member_that_is_alone_has_no_fingers():
    """Its own answer covers every finger, and none of them points at itself."""
    table = FingerTable(ME, SPACE)

    assert table.fill(0, ME) == 6
    assert list(table) == []
    assert table.next_start() is None


def test_a_walk_that_came_round_leaves_the_rest_empty():
    """The last fingers of a small ring would be the member itself: there is nobody to point at."""
    table = FingerTable(ME, SPACE)
    table.fill(0, pointer(14))

    table.fill(3, ME)

    assert list(table) == [pointer(14)]
    assert table.next_start() is None


def test_a_dead_finger_is_due_again():
    """Dropping a member empties its fingers and has them refreshed; others stay."""
    table = filled()

    assert table.drop(pointer(14))
    assert not table.drop(pointer(99))

    assert table.next_start() == (0, 9)
    assert [finger.id for finger in table] == [21, 32, 42]
    assert not table.drop(pointer(21, incarnation=2))


def test_a_new_round_makes_every_finger_due():
    """The fingers stay until their refresh."""
    table = filled()

    table.new_round()

    assert table.next_start() == (0, 9)
    assert [finger.id for finger in table] == [14, 21, 32, 42]


@pytest.mark.parametrize("count", [1, 3, 100])
@pytest.mark.parametrize("key", range(64))
def test_the_candidates_are_those_before_the_key(key, count):
    """Up to so many members strictly between this one and the key, the closest to the key first."""
    routes = Routes(ME, SPACE, RING)

    expected = sorted(
        (each for each in RING if 0 < (each.id - 8) % 64 < ((key - 8) % 64 or 64)),
        key=lambda each: (key - each.id) % 64,
    )
    assert list(routes.preceding(key, count)) == expected[:count]


def test_the_list_knows_the_incarnation_better_than_a_finger():
    """Of two pointers with one identifier the later, from the successor list, is used."""
    routes = Routes(ME, SPACE, [pointer(14, incarnation=1), pointer(14, incarnation=2)])

    assert routes.preceding(20, 3) == (pointer(14, incarnation=2),)


def test_a_doubted_finger_is_due_and_stays_until_then():
    """Whoever is said to be dead is looked at, and not dropped on hearsay."""
    table = filled()

    table.doubt((21, 99))

    assert table.next_start() == (3, 16)
    assert [finger.id for finger in table] == [14, 21, 32, 42]


def test_changes_count_other_owners_only():
    """Filling in what is there already changes nothing; another owner, and a drop, do."""
    table = filled()
    before = table.changes
    table.new_round()
    table.fill(0, pointer(14))
    assert table.changes == before

    table.fill(5, pointer(48))
    assert table.changes == before + 1
    table.drop(pointer(14))
    assert table.changes == before + 4
