"""A zone as its clients see it: the primary by what the ring says, and no epoch below the highest."""

from __future__ import annotations

import random

import pytest

from chord.kernel import Kernel
from pubsub import messages
from pubsub.registration import POLL_S
from pubsub.zone_view import HURRY_AT_MOST_S, HURRY_S, SURE_LOOKS, Fence, ZoneView
from pubsub.zones import PRIMARY, ZonePrimary, record_of
from tests.property.broker.fake_ring import EXCHANGE_S, FakeRing

FIRST, SECOND = ZonePrimary("a:1", 1, "a"), ZonePrimary("b:1", 2, "b")


class Viewed:
    """A zone on a ring, and a view of it."""

    def __init__(self):
        self.kernel = Kernel("test", "", random.Random(1))
        self.ring = FakeRing(lambda: self.kernel.now, lambda _notify, _entry: None)
        self.changes = []
        self.looks = 0
        self.get, self.ring.get = self.ring.get, self.counted
        self.view = ZoneView("z", self.ring, self.kernel.start, self.changes.append)

    def counted(self, name):
        self.looks += 1
        return self.get(name)

    def names(self, primary):
        """The ring names a primary from now on."""
        put = self.ring.put(record_of("z"), PRIMARY, messages.encode(primary), 1000.0)
        self.kernel.start(put)
        self.pass_time(2 * EXCHANGE_S)

    def pass_time(self, seconds):
        """Returns how often the ring was asked meanwhile."""
        before = self.looks
        until = self.kernel.now + seconds
        while self.kernel.now < until:
            self.kernel.on_timer(min(until, self.kernel.now + 0.005))
        return self.looks - before


@pytest.fixture
def viewed():
    return Viewed()


def test_a_fence_admits_no_epoch_below_the_highest():
    """The same one it does, and a higher one, which is the highest then."""
    fence = Fence()
    assert [fence.admits(epoch) for epoch in (1, 1, 3, 2, 3, 1)] == [True, True, True, False, True, False]
    assert fence.epoch == 3


def test_a_view_tells_of_each_primary_once(viewed):
    """However often it looks."""
    viewed.names(FIRST)
    viewed.kernel.start(viewed.view.keep_looking())
    viewed.pass_time(3 * POLL_S)
    viewed.names(SECOND)
    viewed.pass_time(POLL_S)

    assert viewed.changes == [FIRST, SECOND]
    assert viewed.view.fence.epoch == 2


def test_a_view_is_not_told_of_a_primary_that_was_deposed(viewed):
    """By whoever said so: the ring may not know yet."""
    viewed.view.fence.admits(2)
    viewed.names(FIRST)
    viewed.kernel.start(viewed.view.keep_looking())
    viewed.pass_time(POLL_S)

    assert viewed.changes == []


def test_a_view_without_a_primary_looks_for_one_in_a_hurry(viewed):
    """First at short intervals, then at longer ones."""
    viewed.kernel.start(viewed.view.keep_looking())
    assert viewed.pass_time(4 * HURRY_S) >= 3
    assert viewed.pass_time(POLL_S) <= POLL_S / HURRY_AT_MOST_S + 6
    viewed.names(FIRST)
    viewed.pass_time(HURRY_AT_MOST_S + 3 * EXCHANGE_S)

    assert viewed.changes == [FIRST]


def test_a_hurry_ends_with_a_new_primary(viewed):
    """The one that is known already is none; there is one hurry at a time."""
    viewed.names(FIRST)
    viewed.kernel.start(viewed.view.keep_looking())
    viewed.pass_time(0.1)
    for _ in range(5):
        viewed.view.hurry()
    assert 2 <= viewed.pass_time(0.2) <= 6

    viewed.names(SECOND)
    viewed.pass_time(1.0)
    assert viewed.changes == [FIRST, SECOND]
    assert viewed.pass_time(POLL_S) <= 2


def test_a_hurry_ends_when_the_primary_is_heard(viewed):
    """It had only been silent."""
    viewed.names(FIRST)
    viewed.kernel.start(viewed.view.keep_looking())
    viewed.pass_time(0.1)
    viewed.view.hurry()
    viewed.pass_time(0.5)

    viewed.view.calm()
    viewed.pass_time(HURRY_AT_MOST_S + 2 * EXCHANGE_S)

    assert viewed.pass_time(POLL_S) <= 2


def test_a_primary_that_says_it_is_none_was_heard_and_is_looked_for_all_the_same(viewed):
    """Until there is another one; for some ten seconds, should it be the only one after all."""
    viewed.names(FIRST)
    viewed.kernel.start(viewed.view.keep_looking())
    viewed.pass_time(0.1)
    viewed.view.refused()
    viewed.view.calm()
    viewed.pass_time(1.0)
    viewed.view.calm()
    assert viewed.pass_time(1.0) >= 3
    viewed.names(SECOND)
    viewed.pass_time(HURRY_AT_MOST_S + 2 * EXCHANGE_S)
    assert viewed.changes == [FIRST, SECOND]
    assert viewed.pass_time(POLL_S) <= 2

    viewed.view.refused()
    viewed.pass_time(SURE_LOOKS * HURRY_AT_MOST_S + 1.0)
    viewed.view.calm()
    viewed.pass_time(HURRY_AT_MOST_S + 2 * EXCHANGE_S)
    assert viewed.pass_time(POLL_S) <= 2


def test_a_ring_that_is_away_is_asked_again(viewed):
    """In a hurry, as long as no primary is known."""
    viewed.ring.down = True
    viewed.kernel.start(viewed.view.keep_looking())
    viewed.pass_time(1.0)
    viewed.ring.down = False
    viewed.names(FIRST)
    viewed.pass_time(HURRY_AT_MOST_S + 3 * EXCHANGE_S)

    assert viewed.changes == [FIRST]


def test_a_closed_view_looks_no_more(viewed):
    """Nor tells of what it was looking for."""
    viewed.names(FIRST)
    viewed.kernel.start(viewed.view.keep_looking())
    viewed.view.closed = True
    viewed.pass_time(POLL_S)
    viewed.view.hurry()

    assert viewed.pass_time(3 * POLL_S) == 0
    assert viewed.changes == []
