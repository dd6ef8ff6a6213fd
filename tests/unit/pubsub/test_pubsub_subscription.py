"""The subscriber's side of a topic of one publisher: seams, gaps, silence."""

from __future__ import annotations

import pytest

from pubsub.batch import Batch
from pubsub.encoding import encode
from pubsub.layout import Origin
from pubsub.limits import UNTAKEN_BYTES, WINDOW_BYTES
from pubsub.messages import Ack
from pubsub.profile import Profile
from pubsub.subscription import ACK_BATCHES, ACK_EVERY_S, ACK_PAUSE_S, SILENT_FOR_S, Subscription


def subscription(reliability="at_least_once", after=0):
    made = Subscription(3, "t", 7, "me", Profile(reliability), 0.0)
    made.subscribe(0.0)
    if after is not None:
        made.on_subscribed(after, 0.0)
    return made


def batch(first, last):
    count = last - first + 1
    return Batch(bytes(encode(Origin("t", 1, 7), first, [b"x"] * count, [0] * count)))


def test_the_first_subscription_lets_the_publisher_choose():
    """The history, or everything: the publisher knows which."""
    made = Subscription(3, "t", 7, "me", Profile(), 0.0)

    assert made.subscribe(0.0).after is None
    assert made.on_batch(batch(1, 1), 0.0) is None


def test_samples_below_the_start_are_skipped():
    """A batch that the history begins in is had from there on."""
    made = subscription(after=26)

    assert made.on_batch(batch(21, 30), 0.0) == 6
    assert made.next == 31


def test_a_batch_that_was_had_is_dropped():
    """Sent again after a reconnect, it is no sample twice."""
    made = subscription()

    assert made.on_batch(batch(1, 5), 0.0) == 0
    assert made.on_batch(batch(1, 5), 0.0) is None
    assert made.on_batch(batch(4, 8), 0.0) == 2


def test_a_reliable_reader_asks_again_after_a_gap():
    """Once, from the next sample on, and takes nothing out of order meanwhile."""
    made = subscription()
    made.on_batch(batch(1, 2), 0.0)

    assert made.on_batch(batch(5, 6), 0.0) is None
    assert made.gap
    assert made.subscribe(0.1).after == 2
    assert made.on_batch(batch(7, 8), 0.2) is None
    assert not made.gap
    made.on_subscribed(2, 0.3)
    assert made.on_batch(batch(3, 8), 0.3) == 0
    assert made.lost == 0


def test_a_best_effort_reader_counts_a_gap_and_goes_on():
    """Never silently."""
    made = subscription("best_effort")
    made.on_batch(batch(1, 2), 0.0)

    assert made.on_batch(batch(5, 6), 0.0) == 0
    assert made.lost == 2


def test_what_the_publisher_no_longer_has_is_counted_as_lost():
    """The reader asked for 3 and is given 8."""
    made = subscription()
    made.on_batch(batch(1, 2), 0.0)
    made.subscribe(1.0)

    made.on_subscribed(7, 1.1)

    assert (made.lost, made.next) == (5, 8)


def test_a_reader_that_finds_no_room_asks_again():
    """It is news once, and again after the publisher had taken it in."""
    made = subscription()

    assert [made.on_no_room(), made.on_no_room()] == [True, False]
    assert made.tick(SILENT_FOR_S + 0.1) is not None
    made.on_subscribed(0, 2.0)
    assert made.on_no_room()


def test_what_a_publisher_has_spoken_of_is_missing_until_it_comes():
    """Whether a heartbeat spoke of it or a batch that came too soon."""
    made = subscription()
    made.on_batch(batch(1, 2), 0.0)
    assert made.missing == 0

    made.on_heartbeat(4, 0.5)
    assert made.missing == 2
    made.on_batch(batch(5, 6), 0.6)
    assert made.missing == 4
    made.on_batch(batch(3, 6), 0.7)
    assert made.missing == 0


def test_two_heartbeats_that_find_the_same_sample_missing_make_the_reader_ask():
    """One may overtake a batch that is being made; two may not."""
    made = subscription()
    made.on_batch(batch(1, 2), 0.0)
    made.taken = 2

    assert made.on_heartbeat(2, 0.5) is None
    assert made.on_heartbeat(4, 1.0) is None
    again = made.on_heartbeat(4, 1.5)
    assert again is not None
    assert again.after == 2


def test_a_reader_whose_application_is_busy_does_not_ask_for_more():
    """Its window is full, which is why nothing comes."""
    made = subscription()
    made.on_batch(batch(1, 2), 0.0)

    assert [made.on_heartbeat(9, 0.5 * beat) for beat in range(1, 5)] == [None] * 4


def test_a_silent_publisher_is_asked_again_and_again():
    """With a pause between, and not when it has refused."""
    made = subscription()

    assert made.tick(SILENT_FOR_S) is None
    assert made.tick(SILENT_FOR_S + 0.1) is not None
    assert made.tick(SILENT_FOR_S + 0.2) is None
    assert made.tick(2 * SILENT_FOR_S + 0.3) is not None
    made.refused = True
    assert made.tick(100.0) is None


def test_a_publisher_that_was_never_heard_is_silent_for_ever():
    """So that it can be dropped once the ring does not name it."""
    made = subscription(after=None)

    assert made.silent_s(5.0) == float("inf")
    made.on_heartbeat(0, 6.0)
    assert made.silent_s(7.0) == pytest.approx(1.0)


def test_acknowledgements_are_news_or_a_sign_of_life():
    """Cumulative, so that a lost one costs nothing."""
    made = subscription()
    assert made.ack(0.0) is None
    made.on_batch(batch(1, 4), 0.0)

    assert made.ack(0.1) == Ack(3, 4, 0)
    assert made.ack(0.2) is None
    made.taken = 4
    assert made.ack(0.3) == Ack(3, 4, 4)
    assert made.ack(0.4 + ACK_EVERY_S) == Ack(3, 4, 4)


def test_acknowledgements_are_saved_up():
    """For a few milliseconds or a few batches: each one wakes a thread at the other end."""
    made = subscription()
    made.on_batch(batch(1, 1), 1.0)
    assert made.ack(1.0) == Ack(3, 1, 0)

    for sequence in range(2, 2 + ACK_BATCHES):
        assert made.ack(1.0) is None
        made.on_batch(batch(sequence, sequence), 1.0)
    assert made.ack(1.0) == Ack(3, 1 + ACK_BATCHES, 0)

    made.on_batch(batch(made.next, made.next), 1.0)
    assert made.ack(1.0 + ACK_PAUSE_S / 2) is None
    assert made.ack(1.0 + ACK_PAUSE_S) is not None


def test_a_heartbeat_is_answered_at_once():
    """That is how a publisher that flushes asks."""
    made = subscription()
    made.on_batch(batch(1, 1), 1.0)
    made.ack(1.0)
    made.on_batch(batch(2, 2), 1.0)
    assert made.ack(1.0) is None

    made.on_heartbeat(2, 1.0)

    assert made.ack(1.0) == Ack(3, 2, 0)


def test_what_overflows_is_dropped_and_asked_for_once_there_is_room():
    """The queue is bounded here, whatever the publisher sends."""
    made = subscription()
    made.on_batch(batch(1, 2), 0.0)
    made.taken_weight = made.queued_weight - UNTAKEN_BYTES - 1

    assert made.on_batch(batch(3, 4), 0.1) is None
    assert (made.next, made.gap, made.tick(0.2)) == (3, False, None)
    made.taken_weight = made.queued_weight - WINDOW_BYTES + 1
    assert made.tick(0.3).after == 2
    assert made.tick(0.4) is None
    made.on_subscribed(2, 0.5)
    assert made.on_batch(batch(3, 4), 0.5) == 0
    assert made.lost == 0
