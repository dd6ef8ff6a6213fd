"""The publisher's side of a topic: where readers begin, what is kept for whom, and when publishing has to wait."""

from __future__ import annotations

import pytest

from pubsub.given_up import GIVEN_UP_KEPT
from pubsub.limits import BEST_EFFORT_BYTES, BUFFER_BYTES, PENDING_BYTES, WINDOW_BATCHES, WINDOW_BYTES
from pubsub.messages import Ack, Subscribe
from pubsub.profile import Profile
from pubsub.writer import BLOCKING_FOR_S, DETACHED_FOR_S, EXPECTED_FOR_S, SILENT_FOR_S, Writer

KEEPING = Profile(durability="transient", history=10)
ROUTE = b"route"


def writer(offered=KEEPING, expected=()):
    made = Writer(offered)
    made.settle(list(expected), 0.0)
    return made


def publish(made, batches, count=1, weight=100):
    for _ in range(batches):
        made.append(b"frame", count, weight)


def subscribe(made, name="r", after=None, now=0.0, route=ROUTE, history=0, reliability="at_least_once"):
    requested = Profile(reliability, "transient" if history else "volatile", history)
    return made.subscribe(route, Subscribe(1, "t", 7, name, requested, after), now)


def send(made, reader):
    """Send whatever is due; returns the sequences that went out."""
    sequences = []
    for batch in made.due(reader):
        sequences += range(batch.first, batch.last + 1)
        reader.sent(batch)
    return sequences


def ack(made, reader, received, taken=None, now=0.0):
    made.acknowledge(reader, Ack(1, received, received if taken is None else taken), now)


@pytest.mark.parametrize(
    ("published", "history", "after"), [(30, 4, 26), (30, 10, 20), (3, 10, 0), (0, 10, 0), (5, 0, 5)]
)
def test_a_late_joiner_begins_with_the_history_it_requests(published, history, after):
    """Exactly the last min(offered, requested) samples, or as many as there are."""
    made = writer()
    publish(made, published)

    assert subscribe(made, history=history)[1] == after


def test_a_late_joiner_begins_inside_a_batch():
    """The history is counted in samples; the batch that it begins in is sent whole, and the reader skips."""
    made = writer()
    publish(made, 3, count=10)

    reader, after = subscribe(made, history=4)

    assert after == 26
    assert send(made, reader) == list(range(21, 31))


def test_a_subscriber_that_came_first_gets_the_first_sample():
    """Whatever the history: it was registered when the publisher was."""
    made = writer(Profile(), expected=["early"])
    publish(made, 5)
    made.trim()

    reader, after = subscribe(made, "early")

    assert after == 0
    assert send(made, reader) == [1, 2, 3, 4, 5]


def test_a_subscriber_that_connects_before_the_ring_answered_counts_as_early():
    """The ring told it of the publisher, so it was registered."""
    made = Writer(Profile())
    publish(made, 2)
    made.trim()

    assert subscribe(made)[1] == 0
    made.settle(["r", "other"], 0.0)
    assert not made.settled


def test_a_reader_whose_answer_was_lost_begins_where_it_was_to_begin():
    """It asks again without knowing where; meanwhile samples were published."""
    made = writer(expected=["early"])
    publish(made, 1)
    assert subscribe(made, "early")[1] == 0
    assert subscribe(made, "late", history=1, route=b"late")[1] == 0
    publish(made, 5)

    assert subscribe(made, "early", route=b"again")[1] == 0
    assert subscribe(made, "late", history=1, route=b"late again")[1] == 0


def test_an_expected_subscriber_is_awaited_for_a_while_only():
    """A subscriber that crashed before holds nothing up for longer than that."""
    made = writer(Profile(), expected=["dead"])
    publish(made, 5)

    made.forget_silent(EXPECTED_FOR_S - 0.1)
    made.trim()
    assert (made.settled, made.delivered, made.log.first_sequence) == (False, 0, 1)

    made.forget_silent(EXPECTED_FOR_S + 0.1)
    made.trim()
    assert (made.settled, made.delivered, made.log.first_sequence) == (True, 5, 6)


def test_a_subscriber_that_has_left_is_not_awaited():
    """It was quicker than the ring, which still names it."""
    made = Writer(Profile())
    subscribe(made, "quick")
    made.remove("quick")

    made.settle(["quick"], 0.0)

    assert made.settled


def test_a_subscriber_that_does_not_match_is_not_awaited():
    """Whether it was refused before the ring answered or after."""
    made = Writer(Profile())
    made.refuse("before")
    made.settle(["before", "after"], 0.0)
    assert not made.settled

    made.refuse("after")
    assert made.settled


def test_nothing_is_dropped_that_a_reliable_reader_lacks():
    """The log keeps it, and the history, and nothing else."""
    made = writer()
    reader, _ = subscribe(made)
    publish(made, 30)
    send(made, reader)
    made.trim()
    assert made.log.first_sequence == 1

    ack(made, reader, 5)
    made.trim()
    assert made.log.first_sequence == 6

    send(made, reader)
    ack(made, reader, 30)
    made.trim()
    assert made.log.first_sequence == 21


def test_a_window_counts_batches_that_were_not_received():
    """A busy pipe lets the next batch fill."""
    made = writer()
    reader, _ = subscribe(made)
    publish(made, WINDOW_BATCHES + 3)

    assert send(made, reader) == list(range(1, WINDOW_BATCHES + 1))
    assert not made.wants_more

    ack(made, reader, 2, taken=0)
    assert send(made, reader) == [WINDOW_BATCHES + 1, WINDOW_BATCHES + 2]


def test_a_window_counts_bytes_that_the_application_has_not_taken():
    """Received is not enough: the memory of the subscriber is bounded."""
    made = writer()
    reader, _ = subscribe(made)
    publish(made, 10, weight=WINDOW_BYTES // 2)

    assert send(made, reader) == [1, 2]
    ack(made, reader, 2, taken=0)
    assert send(made, reader) == []
    ack(made, reader, 2, taken=1)
    assert send(made, reader) == [3]


def test_a_batch_larger_than_the_window_goes_out_alone():
    """Otherwise it never would."""
    made = writer()
    reader, _ = subscribe(made)
    publish(made, 2, weight=2 * WINDOW_BYTES)

    assert send(made, reader) == [1]


def test_publishing_waits_for_the_slowest_reliable_reader():
    """The limit follows what it has received."""
    made = writer()
    slow, _ = subscribe(made, "slow")
    fast, _ = subscribe(made, "fast", route=b"other")
    publish(made, 4, weight=BUFFER_BYTES // 4)
    send(made, slow)
    send(made, fast)

    ack(made, fast, 4)
    assert made.limit() == BUFFER_BYTES
    ack(made, slow, 2)
    assert made.limit() == BUFFER_BYTES + PENDING_BYTES


def test_publishing_does_not_wait_for_best_effort_readers():
    """They lose what they have no room for, and the log stays bounded."""
    made = writer(Profile())
    reader, _ = subscribe(made, reliability="best_effort")
    weight = BEST_EFFORT_BYTES // 4
    for _ in range(50):
        publish(made, 1, weight=weight)
        send(made, reader)
        made.trim()

    assert made.limit() == made.log.weight + PENDING_BYTES
    assert made.log.weight - made.log.start_weight <= BEST_EFFORT_BYTES
    ack(made, reader, 50)
    assert send(made, reader)[0] > WINDOW_BYTES // weight + 1


def test_a_reader_that_asks_again_is_sent_what_it_lacks():
    """Asked again from the next sample on, without what it has, and with room for it."""
    made = writer()
    reader, _ = subscribe(made)
    publish(made, WINDOW_BATCHES)
    send(made, reader)

    again, after = subscribe(made, after=3)

    assert again is reader
    assert after == 3
    assert send(made, reader) == list(range(4, WINDOW_BATCHES + 1))


def test_a_reader_that_asks_for_what_is_gone_is_told_where_the_log_begins():
    """It counts the difference as lost."""
    made = writer(Profile(durability="transient", history=2))
    publish(made, 9)
    made.trim()

    assert subscribe(made, after=3)[1] == 7
    assert subscribe(made, after=99)[1] == 9


def test_a_reader_on_a_new_connection_replaces_the_old_one():
    """After a reconnect the old route is dead."""
    made = writer()
    old, _ = subscribe(made)
    new, _ = subscribe(made, route=b"new", after=0)

    assert new is not old
    assert list(made.readers.values()) == [new]


def test_readers_that_fell_silent_are_given_up():
    """Silent for long, or disconnected for a shorter time."""
    made = writer()
    silent, _ = subscribe(made, "silent")
    broken, _ = subscribe(made, "broken", route=b"b")
    broken.detached_at = 0.0
    ack(made, broken, 0, now=2.0)

    assert made.forget_silent(DETACHED_FOR_S) == ([], [])
    assert made.forget_silent(DETACHED_FOR_S + 0.1) == ([broken], [])
    assert made.forget_silent(SILENT_FOR_S) == ([], [])
    assert made.forget_silent(SILENT_FOR_S + 0.1) == ([silent], [])
    assert made.readers == {}


def test_that_the_publisher_stood_still_is_held_against_no_reader():
    """It heard nobody meanwhile; who let it go has to hear of it through the ring again."""
    made = writer(expected=["early"])
    silent, _ = subscribe(made, "silent")
    broken, _ = subscribe(made, "broken", route=b"b")
    woke_at = SILENT_FOR_S + 10.0
    publish(made, 1)

    made.stood_still(woke_at, woke_at)
    broken.detached_at = woke_at

    assert made.forget_silent(woke_at + EXPECTED_FOR_S - 0.1) == ([], [])
    given_up, lacking = made.forget_silent(woke_at + EXPECTED_FOR_S + 0.1)
    assert given_up == [broken]
    assert [note.why for note in lacking] == [
        "was registered before the publisher and did not connect within 5 s",
        "did not come back within 5 s after its connection broke",
    ]
    assert made.forget_silent(woke_at + SILENT_FOR_S) == ([], [])
    assert made.forget_silent(woke_at + SILENT_FOR_S + 0.1)[0] == [silent]


def test_a_silent_reader_is_given_up_sooner_when_everybody_waits_for_it():
    """Once it has filled its buffer; a best-effort reader fills none."""
    made = writer(Profile())
    full, _ = subscribe(made, "full")
    subscribe(made, "best effort", route=b"b", reliability="best_effort")
    roomy, _ = subscribe(made, "roomy", route=b"r")
    publish(made, 8, weight=BUFFER_BYTES // 8)
    for reader in (full, roomy):
        send(made, reader)
    ack(made, roomy, 4)

    silent, lacking = made.forget_silent(BLOCKING_FOR_S + 0.1)

    assert silent == [full]
    assert [note.text for note in lacking] == [
        "subscriber full said nothing for 10 s; from sample 1 on nothing is kept for it"
    ]


@pytest.mark.parametrize("received", [2, 5])
def test_a_reader_that_is_given_up_is_noted_when_it_lacks_something(received):
    """For whoever flushes, until they have taken it."""
    made = writer()
    reader, _ = subscribe(made)
    publish(made, 5)
    send(made, reader)
    ack(made, reader, received)

    _, lacking = made.forget_silent(SILENT_FOR_S + 0.1)

    assert [(note.reader, note.received) for note in lacking] == ([("r", 2)] if received == 2 else [])
    assert list(made.unsaid.values()) == lacking


def test_a_best_effort_reader_that_is_given_up_is_not_noted():
    """It puts up with losses."""
    made = writer()
    subscribe(made, reliability="best_effort")
    made.settle([], 0.0)
    publish(made, 5)

    assert made.forget_silent(SILENT_FOR_S + 0.1)[1] == []


def test_a_reader_that_comes_back_to_all_that_it_lacked_was_given_up_for_nothing():
    """The history still held it."""
    made = writer()
    reader, _ = subscribe(made)
    publish(made, 5)
    send(made, reader)
    ack(made, reader, 2)
    made.forget_silent(SILENT_FOR_S + 0.1)
    made.trim()

    assert subscribe(made, after=3)[1] == 3
    assert made.unsaid == {}


def test_a_subscriber_that_connects_too_late_is_told_what_it_has_missed():
    """It was to get everything, and begins with what is left."""
    made = writer(Profile(durability="transient", history=2), expected=["late"])
    publish(made, 5)
    _, lacking = made.forget_silent(EXPECTED_FOR_S + 0.1)
    made.trim()

    reader, after = subscribe(made, "late")

    assert [(note.reader, note.received) for note in lacking] == [("late", 0)]
    assert (reader.began, after) == (0, 3)


def test_a_best_effort_subscriber_that_does_not_connect_is_not_noted():
    """Nor one that does not match."""
    made = Writer(Profile())
    made.settle(["careless", "refused"], 0.0, best_effort=["careless"])
    made.refuse("refused")
    publish(made, 5)

    assert made.forget_silent(EXPECTED_FOR_S + 0.1) == ([], [])
    assert made.settled


def test_notes_of_readers_are_bounded():
    """The latest are kept."""
    made = writer(expected=[f"reader {number}" for number in range(GIVEN_UP_KEPT + 5)])
    publish(made, 1)

    made.forget_silent(EXPECTED_FOR_S + 0.1)

    assert list(made.unsaid) == list(made.given_up) == [f"reader {number}" for number in range(5, GIVEN_UP_KEPT + 5)]


def test_who_is_behind_is_named():
    """So that an error can say whom it waits for."""
    made = writer(expected=["late"])
    reader, _ = subscribe(made)
    publish(made, 3)
    send(made, reader)
    ack(made, reader, 2)

    assert made.behind(3) == ["r has 2", "late has not connected"]
    assert made.delivered == 0
