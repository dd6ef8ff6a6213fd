"""Whom a writer serves, and what it tells those that it does not."""

from __future__ import annotations

import pytest

from pubsub import attending as module
from pubsub.attending import Attending
from pubsub.messages import (
    Ack,
    Acks,
    Fenced,
    Gone,
    Incompatible,
    NoRoom,
    NotPrimary,
    Subscribe,
    Subscribed,
    Unsubscribe,
)
from pubsub.profile import Profile
from pubsub.writer import Writer


class Topic:
    """What is served."""

    topic = "t"

    def __init__(self):
        self.writer = Writer(Profile(), "zone/z")


class Attended(Attending):
    """Notes what is said."""

    def __init__(self):
        self.served = Topic()
        self.answer = self.served
        self.said = []
        self.warnings = []
        self.mismatches = []
        super().__init__(
            "writer",
            self.warnings.append,
            lambda _route, _message: self.answer,
            lambda _served, mismatch: self.mismatches.append(mismatch),
        )

    def say(self, route, message):
        self.said.append((route, message))
        return True

    def hears(self, message, route=b"1"):
        """What is said to that."""
        self.said.clear()
        self.on_message(route, message, 0.0)
        return [message for to, message in self.said if to == route]


@pytest.fixture
def attended():
    return Attended()


def subscribe(name="r", epoch=0, requested=None, stream=1):
    return Subscribe(stream, "t", 7, name, requested or Profile(), reader_epoch=epoch)


def test_a_reader_is_served_from_its_subscription_to_its_good_bye(attended):
    """Before and after it is unknown."""
    assert attended.hears(Ack(1, 0, 0)) == [Gone(1)]
    assert attended.hears(subscribe()) == [Subscribed(1, 0)]
    assert attended.hears(Ack(1, 0, 0)) == []
    assert attended.hears(Unsubscribe(1)) == []
    assert attended.hears(Ack(1, 0, 0)) == [Gone(1)]


def test_several_readers_say_at_once_how_far_they_are(attended):
    """Each counts as if it had said so by itself."""
    writer = attended.served.writer
    sample = writer.append(b"", 1, 9)
    for stream in (1, 2):
        attended.hears(subscribe(f"r{stream}", stream=stream))
        writer.readers[f"r{stream}"].sent(sample)

    assert attended.hears(Acks((Ack(1, 1, 1), Ack(3, 1, 1), Ack(2, 1, 1)))) == [Gone(3)]

    assert [reader.received for reader in writer.readers.values()] == [1, 1]


@pytest.mark.parametrize("answer", [Gone(1), NotPrimary(1, 4)])
def test_a_reader_that_is_not_served_is_told_so(attended, answer):
    """As is decided elsewhere."""
    attended.answer = answer
    assert attended.hears(subscribe()) == [answer]


def test_a_reader_that_has_to_wait_is_told_nothing(attended):
    """It is readmitted later."""
    attended.answer = None
    assert attended.hears(subscribe()) == []
    assert attended.served.writer.readers == {}


def test_a_deposed_primary_is_fenced_by_the_epoch_of_its_zone(attended):
    """When it asks, and when it says how far it is."""
    attended.hears(subscribe("zone/z", 2), b"old")
    assert attended.hears(Ack(1, 0, 0, 0, 1), b"old") == [Fenced(1, 2)]

    attended.hears(subscribe("zone/z", 3), b"new")
    assert attended.hears(Ack(1, 0, 0, 0, 2), b"old") == [Gone(1)]
    assert attended.hears(subscribe("zone/z", 2), b"old") == [Fenced(1, 3)]
    assert [reader.route for reader in attended.served.writer.readers.values()] == [b"new"]


def test_a_good_bye_over_an_old_connection_ends_nothing(attended):
    """The reader is served over a new one."""
    attended.hears(subscribe(), b"old")
    attended.hears(subscribe(), b"new")

    attended.hears(Unsubscribe(1), b"old")

    assert attended.hears(Ack(1, 0, 0), b"new") == []


def test_a_reader_that_requests_more_is_told_and_reported(attended):
    """Nobody waits for it."""
    attended.served.writer.settle(["r"], 0.0)
    (told,) = attended.hears(subscribe(requested=Profile(history=3)))

    assert type(told) is Incompatible
    assert told.policies == ("history",)
    assert [mismatch.other for mismatch in attended.mismatches] == ["r"]
    assert attended.served.writer.settled


def test_beyond_the_limit_readers_are_refused_and_that_is_said_once(attended, monkeypatch):
    """One that is there may ask again."""
    monkeypatch.setattr(module, "MAX_READERS", 1)
    attended.hears(subscribe("one"), b"one")
    for name in (b"two", b"three"):
        (told,) = attended.hears(subscribe(name.decode()), name)
        assert type(told) is NoRoom

    assert len(attended.warnings) == 1
    assert attended.hears(subscribe("one"), b"again") == [Subscribed(1, 0)]


def test_when_nobody_is_served_any_more_everybody_is_unknown(attended):
    """A deposed primary's readers, for example."""
    attended.hears(subscribe())
    attended.forget_all()

    assert attended.touched == {}
    assert attended.hears(Ack(1, 0, 0)) == [Gone(1)]


def test_readers_of_a_topic_that_ends_are_told(attended):
    """All of them."""
    attended.hears(subscribe("one"), b"one")
    attended.hears(subscribe("two"), b"two")
    attended.said.clear()

    attended.forget(attended.served)

    assert attended.said == [(b"one", Gone(1)), (b"two", Gone(1))]
