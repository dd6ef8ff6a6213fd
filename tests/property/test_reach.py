"""The reach: what is all here, when it grows and shrinks, and what is given up when a predecessor has its records.

Keys are counted one by one in a small circle: what the reach says with two numbers, a set says with all of them.
"""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from chord.identifiers import IdentifierSpace
from chord.messages import Pointer
from chord.reach import Reach

SPACE = IdentifierSpace(5)
ME = 21

keys = st.integers(0, SPACE.size - 1)
others = keys.filter(lambda key: key != ME)


def at(identifier: int) -> Pointer:
    """A member there."""
    return Pointer(identifier, f"n{identifier}:1", 1)


def reach(low: int = ME) -> Reach:
    """That of a member which has had its records for long."""
    made = Reach(ME, SPACE, 0.0)
    made.low = low
    return made


def walk(low: int, high: int) -> set[int]:
    """The keys in (low, high], counted."""
    return {(low + 1 + step) % SPACE.size for step in range((high - low - 1) % SPACE.size + 1)}


def here(one: Reach) -> set[int]:
    return {key for key in range(SPACE.size) if one.covers(key)}


# What is here ------------------------------------------------------------------------------------------------------


@given(keys)
def test_what_lies_in_the_reach_is_here(low):
    """(low, me], and the whole circle if both are the same."""
    assert here(reach(low)) == walk(low, ME)


@given(keys, keys)
def test_what_was_gathered_is_added(low, further):
    """Whatever lies in it already stays."""
    one = reach(low)

    one.extend(further)

    assert here(one) == walk(low, ME) | walk(further, ME)


@given(keys)
def test_who_is_alone_has_all_there_is(low):
    """Nobody else could hold anything."""
    one = reach(low)

    one.alone()

    assert here(one) == set(range(SPACE.size))


# A predecessor that has its records --------------------------------------------------------------------------------


@given(keys, others)
def test_what_is_given_up_was_here(low, predecessor):
    """Up to a complete predecessor, itself included; what lies after it stays. Else nothing changes."""
    one = reach(low)
    before = here(one)

    given_up = one.told(at(predecessor), complete=True)

    assert here(one) == before - walk(ME, predecessor)
    assert before - here(one) == (set() if given_up is None else walk(given_up, predecessor))


@given(keys, others)
def test_who_lacks_its_records_is_given_nothing(low, predecessor):
    """Its successor stands in until then, for as much as is here."""
    one = reach(low)
    before = here(one)

    assert one.told(at(predecessor), complete=False) is None
    assert here(one) == before
    assert all(one.stands_in(key) for key in range(SPACE.size))


@given(keys, others)
def test_whoever_lacks_records_itself_gives_nothing_up(low, predecessor):
    """It does not know yet what it has for others."""
    one = reach(low)
    one.join(predecessor)
    before = here(one)

    assert one.told(at(predecessor), complete=True) is None
    assert here(one) == before


@given(keys, others, keys)
def test_nobody_stands_in_for_a_predecessor_that_has_its_records(low, predecessor, key):
    """But for what is still all here; and for anybody once the predecessor is another one."""
    one = reach(low)
    one.told(at(predecessor), complete=True)

    assert one.stands_in(key) == one.covers(key)
    one.moved()
    assert one.stands_in(key)


# Entries taken for keys beyond the reach ---------------------------------------------------------------------------


@given(keys, st.lists(keys, min_size=1, max_size=4), st.lists(others, min_size=1, max_size=3))
def test_what_was_answered_for_is_given_up_too(low, answered, predecessors):
    """Though not all is here that is stored under those keys: each predecessor may lack what was taken in its place."""
    one = reach(low)
    owed = set(answered) - here(one)
    for key in answered:
        one.answered(key)

    for predecessor in predecessors:
        given_up = one.told(at(predecessor), complete=True)

        gone = owed - walk(predecessor, ME)
        assert gone <= (set() if given_up is None else walk(given_up, predecessor))
        owed -= gone


@given(keys, st.lists(keys, max_size=4), st.booleans())
def test_what_is_here_or_was_answered_for_is_known_to_lie_behind_one_key(low, answered, complete):
    """So nothing is forgotten by a member that joins another ring; what a joiner takes counts, whatever is here."""
    one = reach(low)
    one.complete = complete
    for key in answered:
        one.answered(key)
    one.low = low = ME - 1  # as it is when the joiner has got its records

    kept = walk(one.answered_after(), ME)
    assert here(one) <= kept
    if not complete:
        assert set(answered) <= kept


@given(keys, keys)
def test_what_was_answered_for_is_not_here(low, answered):
    """Taking an entry does not make all of the record be here."""
    one = reach(low)
    before = here(one)

    one.answered(answered)

    assert here(one) == before


@given(others, others)
def test_what_was_given_up_is_given_up_once(answered, predecessor):
    """The predecessor says every time that it has its records."""
    one = reach(ME - 1)
    one.answered(answered)
    assume(one.told(at(predecessor), complete=True) is not None)

    assert one.told(at(predecessor), complete=True) is None
