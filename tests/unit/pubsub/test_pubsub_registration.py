"""Registrations on a ring of one, run by hand: no sockets, no clock."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from chord.asking import Ring
from chord.errors import InvalidName, LookupFailed, TooLarge
from chord.host import Host
from chord.identifiers import IdentifierSpace
from chord.settings import Settings
from pubsub.directory import directories, directory_of, entry_of, list_topics
from pubsub.registration import (
    REFUSED_AT_MOST_S,
    WITHDRAW_S,
    Registration,
    keep_listed,
    keep_publisher,
    keep_subscriber,
    withdraw,
)


class OneNode:
    """A ring of one member, its clock, and the ring as seen from inside that process."""

    def __init__(self):
        self.host = Host(Settings(), "127.0.0.1:5000", 1, random.Random(1))
        self.kernel = self.host.kernel
        self.kernel.start(self.host.boot([], 1.0))
        self.ring = Ring(self.kernel, ["127.0.0.1:5000"])

    def start(self, operation):
        """Run an operation until it waits for the clock; returns where its outcome will be."""
        outcome = []
        self.kernel.start(operation, lambda result, error: outcome.append(error or result))
        return outcome

    def run(self, operation):
        """Run an operation that ends without waiting."""
        (result,) = self.start(operation)
        return result

    def sleep(self, seconds):
        """Let time pass, timer by timer."""
        end = self.kernel.now + seconds
        while (due := self.kernel.deadline()) is not None and due <= end:
            self.kernel.on_timer(due)
        self.kernel.on_timer(end)

    def ids(self, name):
        return [entry.entry for entry in self.run(self.ring.get(name))]


@pytest.fixture
def node():
    return OneNode()


def test_a_publisher_is_in_the_record_of_its_topic_and_in_the_directory(node):
    """And is told who was there before it."""
    found = []
    node.run(node.ring.put("t", "sub/early", b"", 60.0))

    registration = Registration("t", "pub/1", b"value")
    node.start(keep_publisher(node.ring, registration, found.append))
    node.start(keep_listed(node.ring, registration))

    assert [[entry.entry for entry in entries] for entries in found] == [["pub/1", "sub/early"]]
    assert node.ids(directory_of("t", node.ring.space)) == ["topic/t"]
    assert node.run(list_topics(node.ring)) == ["t"]


def test_a_registration_is_kept_alive_beyond_its_lease(node):
    """For as long as nobody closes it."""
    node.start(keep_publisher(node.ring, Registration("t", "pub/1", b"value"), lambda _entries: None))

    node.sleep(65.0)

    assert node.ids("t") == ["pub/1"]


def test_a_registration_that_is_not_refreshed_lapses(node):
    """That is how a crashed publisher goes."""
    registration = Registration("t", "pub/1", b"value")
    node.start(keep_publisher(node.ring, registration, lambda _entries: None))
    registration.closed = True

    node.sleep(registration.lease_s + 0.1)

    assert node.ids("t") == []


def test_a_registration_that_is_withdrawn_is_gone_at_once(node):
    """And does not come back."""
    registration = Registration("t", "pub/1", b"value")
    node.start(keep_publisher(node.ring, registration, lambda _entries: None))

    node.start(withdraw(node.ring, registration))
    assert node.ids("t") == []

    node.sleep(30.0)
    assert node.ids("t") == []


def test_a_withdrawal_waits_for_a_put_under_way(node):
    """Else that put would bring the entry back."""
    registration = Registration("t", "pub/1", b"value", busy=True)
    node.run(node.ring.put("t", "pub/1", b"value", 60.0))

    node.start(withdraw(node.ring, registration))
    node.sleep(0.1)
    assert node.ids("t") == ["pub/1"]

    registration.busy = False
    node.sleep(0.1)
    assert node.ids("t") == []


def test_a_withdrawal_does_not_wait_longer_than_its_client(node):
    """A put that gets no answer does not keep the entry on the ring for the rest of its lease."""
    registration = Registration("t", "pub/1", b"value", busy=True)
    node.run(node.ring.put("t", "pub/1", b"value", 60.0))

    node.start(withdraw(node.ring, registration))
    node.sleep(WITHDRAW_S)

    assert node.ids("t") == []


def test_a_subscriber_looks_again_every_two_seconds(node):
    """A change that was never told is found all the same."""
    found = []
    registration = Registration("t", "sub/1", b"value", "127.0.0.1:9")
    node.start(keep_subscriber(node.ring, registration, found.append))
    node.run(node.ring.put("t", "pub/1", b"", 60.0))
    assert [[entry.entry for entry in entries] for entries in found] == [["sub/1"]]

    node.sleep(2.1)

    assert [entry.entry for entry in found[-1]] == ["pub/1", "sub/1"]
    node.sleep(60.0)
    assert node.ids("t") == ["pub/1", "sub/1"] or node.ids("t") == ["sub/1"]


def test_a_registration_that_fails_is_tried_again(node):
    """The error is kept for whoever asks, until it is over."""
    registration = Registration("t", "pub/1", b"value")
    owner = node.host.members[0]
    owner.leaving = True
    node.ring.patience_s = 0.0

    node.start(keep_publisher(node.ring, registration, lambda _entries: None))
    assert "is leaving the ring" in str(registration.error)

    owner.leaving = False
    node.sleep(1.0)
    assert registration.error is None
    assert node.ids("t") == ["pub/1"]


class FirmRing(Ring):
    """A ring that refuses some names for good, and counts what is put under each."""

    def __init__(self, node, *refused):
        super().__init__(node.kernel, ["127.0.0.1:5000"])
        self.refused = refused
        self.puts = Counter()

    def put(self, name, *arguments, **named):
        self.puts[name] += 1
        if name in self.refused:
            raise TooLarge("nothing more goes in")
        return super().put(name, *arguments, **named)


@pytest.mark.parametrize("keep", [keep_publisher, keep_subscriber], ids=["publisher", "subscriber"])
def test_a_registration_that_is_refused_for_good_is_tried_ever_more_rarely(node, keep):
    """And said once."""
    warnings = []
    ring = FirmRing(node, "t")
    registration = Registration("t", "some/1", b"value", warn=warnings.append)

    node.start(keep(ring, registration, lambda _entries: None))
    node.sleep(10 * REFUSED_AT_MOST_S)

    assert 10 <= ring.puts["t"] <= 16
    assert warnings == ["topic 't' is not registered on the ring: nothing more goes in; trying again, ever more rarely"]


def test_a_registration_that_was_refused_is_told_again_after_it_was_taken():
    """It is another refusal then, and the pauses begin short again."""
    warnings = []
    registration = Registration("t", "pub/1", b"value", warn=warnings.append)

    pauses = [registration.failed(TooLarge("first")) for _ in range(3)]
    registration.taken()
    pauses.append(registration.failed(TooLarge("second")))

    assert pauses == [1.0, 2.0, 4.0, 1.0]
    assert [warning.split(": ")[1] for warning in warnings] == [
        "first; trying again, ever more rarely",
        "second; trying again, ever more rarely",
    ]


def test_a_directory_that_refuses_a_topic_does_not_keep_its_publisher_from_the_ring(node):
    """Each entry has a life of its own."""
    warnings = []
    registration = Registration("t", "pub/1", b"value", warn=warnings.append)
    directory = directory_of("t", node.ring.space)
    ring = FirmRing(node, directory)

    node.start(keep_publisher(ring, registration, lambda _entries: None))
    node.start(keep_listed(ring, registration))
    node.sleep(60.0)

    assert node.ids("t") == ["pub/1"]
    assert [warning.partition(" is not")[0] for warning in warnings] == [f"topic {directory!r}"]


def test_a_directory_that_cannot_be_read_is_an_error(node):
    """A list with holes would look like a list."""
    ring = Ring(node.kernel, ["127.0.0.1:9"], patience_s=0.0)
    outcome = node.start(list_topics(ring))

    node.sleep(60.0)

    assert isinstance(outcome[0], LookupFailed)


def test_topics_are_spread_over_the_directory_by_the_top_byte_of_their_key():
    """flights.JFK has key 10fdf0cc2fbca71d."""
    assert directory_of("flights.JFK", IdentifierSpace()) == "topics/10"
    assert len(set(directories())) == 256
    assert directory_of("flights.JFK", IdentifierSpace(8)) in directories()


def test_a_topic_has_one_directory_entry_whatever_its_form():
    """NFC and NFD are one name."""
    assert entry_of("cafe\u0301") == entry_of("caf\u00e9")
    with pytest.raises(InvalidName):
        entry_of("a\x00b")
