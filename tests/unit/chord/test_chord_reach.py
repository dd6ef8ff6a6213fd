"""When a member has its records, and what it gives up; the rules are in tests/property/test_reach.py."""

from __future__ import annotations

from chord.messages import Pointer
from chord.reach import SEASONED_S, TAKERS_KEPT, Reach
from tests.unit.chord.worlds import SPACE

ME = 500


def at(identifier: int) -> Pointer:
    """A member there."""
    return Pointer(identifier, f"n{identifier}:1", 1)


def test_a_member_is_seasoned_when_it_has_had_its_records_for_a_while():
    """From the start, unless it joins; then from when it has got them."""
    one = Reach(ME, SPACE, 100.0)
    assert one.complete and one.seasoned(100.0)

    one.join(400)
    assert not one.complete
    assert not one.seasoned(100.0 + SEASONED_S)

    one.completed(200.0)
    assert one.complete
    assert not one.seasoned(200.0 + SEASONED_S - 0.1)
    assert one.seasoned(200.0 + SEASONED_S)


def test_a_member_that_has_joined_says_from_where_on_it_lacks_records():
    """Whoever joins before it has to fetch those as well."""
    one = Reach(ME, SPACE, 100.0)

    one.join(400)

    assert one.joined_after == 400


def test_a_reach_shrinks_when_the_predecessor_has_its_records():
    """It joined at 450, within what is here; said so before, when it did not have them; and says so again after."""
    one = Reach(ME, SPACE, 100.0)
    one.low = 300

    assert one.told(at(450), complete=False) is None
    assert one.low == 300
    assert one.told(at(450), complete=True) == 300
    assert one.low == 450
    assert one.told(at(450), complete=True) is None


def test_a_reach_does_not_grow_when_the_predecessor_is_gone():
    """What lay between was that one's; a put taken meanwhile is given up to whoever comes next."""
    one = Reach(ME, SPACE, 100.0)
    one.low = 450
    one.moved()

    one.answered(420)

    assert not one.covers(420)
    assert one.told(at(430), complete=True) == 419
    assert one.low == 450


def test_the_furthest_of_what_was_answered_for_counts():
    """However they came; and none that is all here by now."""
    one = Reach(ME, SPACE, 100.0)
    one.low = 450
    for key in (440, 410, 430, 480):
        one.answered(key)
    assert one.told(at(420), complete=True) == 409

    one = Reach(ME, SPACE, 100.0)
    one.low = 450
    one.answered(440)
    one.extend(430)
    assert one.told(at(445), complete=True) == 430


def test_what_a_predecessor_has_taken_is_its_own_while_others_come():
    """The nearest taker after a key counts; whoever did not answer counts no more, and a joiner knows of none."""
    one = Reach(ME, SPACE, 100.0)
    one.low = 300
    one.told(at(400), complete=True)
    one.moved()
    one.taken(300, at(450))

    assert [one.taker(key) for key in (300, 301, 400, 401, 450, 451)] == [
        None,
        at(400),
        at(400),
        at(450),
        at(450),
        None,
    ]
    one.taker_gone(at(400))
    assert one.taker(350) == at(450)

    one.join(450)
    assert one.taker(350) is None


def test_what_is_doubted_was_answered_for():
    """Whoever turns out to own some of it is given that."""
    one = Reach(ME, SPACE, 100.0)

    one.doubt(200.0)

    assert one.covers(ME) and not one.covers(ME - 1) and not one.covers(ME + 1)
    assert not one.seasoned(200.0)
    assert one.told(at(400), complete=True) == ME
    one.own(400)
    assert one.covers(401)
    assert one.seasoned(200.0 + SEASONED_S)
    one.doubt(300.0)
    assert one.told(at(400), complete=True) is None
    assert one.told(at(450), complete=True) == 400


def test_a_doubt_lasts_until_the_arc_is_gathered():
    """Or until nobody else is there, or it joins anew; what a joiner has got so far counts for nothing either."""
    for end in (lambda one: one.own(400), lambda one: one.alone(), lambda one: one.join(400)):
        one = Reach(ME, SPACE, 100.0)
        one.doubt(200.0)
        assert one.doubted
        end(one)
        assert not one.doubted

    before = one.low, one.moves, one.doubts
    one.doubt(300.0)
    assert (one.low, one.moves, one.doubts) == (before[0], before[1] + 1, before[2] + 1)
    assert not one.doubted


def test_a_taker_has_all_that_it_ever_took():
    """What it is given later may be the end of that only, and all before it counts if nobody knows how far."""
    one = Reach(ME, SPACE, 100.0)
    one.taken(ME, at(400))
    one.taken(350, at(400))
    assert one.taker(300) == at(400)

    one.taken(410, at(450))
    one.taken(405, at(450))
    assert one.taker(408) == at(450)


def test_so_many_takers_are_remembered_and_no_more():
    """The longest known go first; one that takes anew is known anew."""
    one = Reach(ME, SPACE, 100.0)
    for step in range(TAKERS_KEPT):
        one.taken(300 + step, at(301 + step))
    one.taken(300, at(301))
    one.taken(400, at(401))

    assert [one.taker(key) for key in (301, 302, 303, 401)] == [at(301), None, at(303), at(401)]


def test_who_is_alone_is_asked_by_nobody_who_took_anything():
    """All others are gone."""
    one = Reach(ME, SPACE, 100.0)
    one.taken(300, at(400))

    one.alone()

    assert one.taker(350) is None
