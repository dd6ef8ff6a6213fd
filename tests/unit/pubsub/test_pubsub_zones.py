"""Zones on the ring: their names, their entries, and which readers a writer awaits."""

from __future__ import annotations

import random

import pytest

from chord.errors import LocalProtocolError
from chord.kernel import Kernel
from chord.messages import Entry
from pubsub import messages
from pubsub.limits import MAX_ZONE_NAME
from pubsub.messages import PublisherRecord, SubscriberRecord
from pubsub.profile import Profile
from pubsub.zones import (
    PRIMARY,
    ZONES,
    Client,
    NoZone,
    ZoneLoad,
    ZonePrimary,
    check_zone,
    client_entry,
    client_of,
    find_primary,
    least_loaded,
    list_zones,
    publisher_of,
    readers_of,
    record_of,
    zone_of,
)
from tests.property.broker.fake_ring import FakeRing

A_PUBLISHER = PublisherRecord("p:1", Profile(), "z")
A_PRIMARY = ZonePrimary("a:1", 3, "a")


def subscriber(name, zone, reliability="at_least_once"):
    value = messages.encode(SubscriberRecord(Profile(reliability), zone))
    return Entry("t", f"sub/{name}", 1, value, 10.0)


DIRECT, IN_Y, IN_Z = subscriber("direct", ""), subscriber("in y", "y"), subscriber("in z", "z")


@pytest.mark.parametrize(
    ("at", "publisher_zone", "awaited"),
    [
        ("", "", {"direct", "zone/y", "zone/z"}),
        ("", "z", {"direct", "zone/z"}),
        ("z", "z", {"in z", "zone/y"}),
        ("y", "z", {"in y"}),
        ("y", "", {"in y"}),
        ("x", "z", set()),
    ],
)
def test_every_subscriber_is_reached_by_one_way(at, publisher_zone, awaited):
    """A zone reads for its subscribers, first the publisher's own; the others read from that one."""
    assert set(readers_of([DIRECT, IN_Y, IN_Z], at, publisher_zone)) == awaited


def test_the_zone_of_a_publisher_is_awaited_though_nobody_reads_there():
    """The other zones read from it."""
    assert readers_of([], "", "z") == {"zone/z": True}


def test_a_zone_loses_nothing_if_one_of_its_subscribers_is_to_lose_nothing():
    """In whatever order they come."""
    careless = subscriber("careless", "y", "best_effort")

    assert readers_of([careless], "z", "z") == {"zone/y": False}
    assert readers_of([careless, IN_Y], "z", "z") == readers_of([IN_Y, careless], "z", "z") == {"zone/y": True}


def test_what_is_no_subscriber_is_not_awaited():
    """Publishers, and values that cannot be read."""
    publisher = Entry("t", "pub/00000000000000ff", 1, messages.encode(A_PUBLISHER), 10.0)

    assert readers_of([publisher, Entry("t", "sub/odd", 1, b"odd", 10.0)], "", "") == {}


@pytest.mark.parametrize("zone", ["z", "eu-west.1", "A_b", "z" * MAX_ZONE_NAME])
def test_a_name_of_a_zone_is_a_part_of_a_path(zone):
    """Of a record, and of a znode."""
    assert check_zone(zone) == zone
    assert zone_of(record_of(zone)) == zone


@pytest.mark.parametrize("zone", ["", ".", "..", "a/b", "a b", "é", "z" * (MAX_ZONE_NAME + 1), "a\x00"])
def test_what_cannot_be_a_name_of_a_zone_is_refused(zone):
    """With what a name is made of."""
    with pytest.raises(LocalProtocolError, match="is no name for a zone"):
        check_zone(zone)


def test_a_reader_that_is_no_zone_has_none():
    """Backups and subscribers."""
    assert zone_of("backup/a") == zone_of("zonez") == ""


def test_the_clients_of_a_zone_are_counted_by_client():
    """However many topics they have; a broker is none."""
    entry = client_entry("00000000000000ff", "a/b")
    found = Entry("zone/z/clients", entry, 1, messages.encode(A_PUBLISHER), 10.0)

    assert publisher_of(found) == Client("a/b", 0xFF, A_PUBLISHER)
    assert client_of(found) == "00000000000000ff"
    assert client_of(subscriber("s", "z")) == "s"
    assert client_of(Entry("zone/z/clients", "broker/a", 1, b"", 10.0)) == ""


@pytest.mark.parametrize(
    "entry", ["pub/00000000000000ff", "pub/ff/t", "pub/+0000000000000ff/t", "sub/00000000000000ff/t"]
)
def test_what_is_no_publisher_of_a_zone_is_passed_over(entry):
    """Anybody may put an entry."""
    assert publisher_of(Entry("zone/z/clients", entry, 1, messages.encode(A_PUBLISHER), 10.0)) is None


class Rings:
    """A ring, and results of operations on it."""

    def __init__(self):
        self.kernel = Kernel("test", "", random.Random(1))
        self.ring = FakeRing(lambda: self.kernel.now, lambda _notify, _entry: None)

    def result(self, operation):
        results = []
        self.kernel.start(operation, lambda result, error: results.append(error or result))
        self.kernel.on_timer(self.kernel.now + 0.1)
        return results[0]

    def put(self, record, entry, value):
        self.result(self.ring.put(record, entry, value, 100.0))


@pytest.fixture
def rings():
    return Rings()


def load(clients):
    return messages.encode(ZoneLoad(clients, A_PRIMARY, 3, 2, 1))


def test_the_primary_of_a_zone_is_found(rings):
    """None where there is none, or none that can be read."""
    assert rings.result(find_primary(rings.ring, "z")) is None
    rings.put("zone/z", PRIMARY, b"odd")
    assert rings.result(find_primary(rings.ring, "z")) is None
    rings.put("zone/z", PRIMARY, messages.encode(A_PRIMARY))
    assert rings.result(find_primary(rings.ring, "z")) == A_PRIMARY


def test_new_clients_go_to_the_least_loaded_zone(rings):
    """Of equal ones to the first by name; without a zone they are told what to do."""
    assert isinstance(rings.result(least_loaded(rings.ring)), NoZone)
    for zone, clients in (("c", 2), ("b", 2), ("a", 5)):
        rings.put(ZONES, f"zone/{zone}", load(clients))

    assert rings.result(least_loaded(rings.ring)) == "b"


def test_odd_entries_among_the_zones_are_passed_over(rings):
    """Anybody may put one."""
    rings.put(ZONES, "zone/a", load(1))
    for entry, value in (("zone/odd", b"odd"), ("zone/..", load(0)), ("nothing", load(0))):
        rings.put(ZONES, entry, value)

    assert list(rings.result(list_zones(rings.ring))) == ["a"]
