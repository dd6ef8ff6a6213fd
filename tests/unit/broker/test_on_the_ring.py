"""A broker on the ring: its entries outlive no higher epoch, and it hears of the zone's clients."""

from __future__ import annotations

import pytest

from broker.place import Place
from broker.registration import BROKER, VERSIONS, OnTheRing
from chord.effects import Operation
from chord.limits import MAX_VERSION_STEP
from chord.messages import Entry
from pubsub import messages
from pubsub.registration import LEASE_S, POLL_S
from pubsub.zones import Client, client_entry, clients_of, find_primary, list_zones
from tests.unit.broker.outsides import ME, SOURCE, Outside, term

CLIENT = client_entry("00000000000000ff", "t")


@pytest.fixture
def outside():
    return Outside()


class Broker:
    """OnTheRing of one broker, and what it called."""

    def __init__(self, outside, place=ME):
        self.put = []
        self.clients = []
        self.on_the_ring = OnTheRing(place, f"notify-{place.broker}", outside, self.put.append, self.clients.append)


def result(outside, operation):
    """What an operation on the ring comes to."""
    results = []

    def run() -> Operation[None]:
        results.append((yield from operation))

    outside.begin(run())
    outside.pass_time(0.1)
    return results[0]


def primary(outside):
    return result(outside, find_primary(outside.ring, "z"))


def test_the_ring_names_the_primary_for_as_long_as_it_leads(outside):
    """It is told once that the ring does."""
    broker = Broker(outside)
    broker.on_the_ring.lead(term())
    outside.pass_time(3 * LEASE_S)

    assert (primary(outside).broker, primary(outside).epoch) == ("a", 3)
    assert broker.put == [3]

    broker.on_the_ring.follow()
    outside.pass_time(LEASE_S + POLL_S)
    assert primary(outside) is None


def test_a_deposed_primary_does_not_put_its_entries_back(outside):
    """However often it tries: a lower epoch has lower versions. Neither in the record of zones."""
    deposed, successor = Broker(outside), Broker(outside, Place("b", "b:1", "z"))
    deposed.on_the_ring.lead(term())
    outside.pass_time(20 * POLL_S)
    successor.on_the_ring.lead(term(epoch=4, leader="b"))
    outside.pass_time(0.1)
    for _ in range(20):
        assert primary(outside).broker == "b"
        assert result(outside, list_zones(outside.ring))["z"].primary.broker == "b"
        outside.pass_time(POLL_S / 3)


def test_the_record_of_zones_tells_of_brokers_and_clients(outside):
    """As the term says, whose in-sync set may change within an epoch."""
    broker = Broker(outside)
    broker.on_the_ring.start()
    result(outside, outside.ring.put(clients_of("z"), CLIENT, messages.encode(SOURCE), 100.0))
    broker.on_the_ring.lead(term())
    broker.on_the_ring.lead(term(in_sync="ab"))
    outside.pass_time(2 * POLL_S)

    load = result(outside, list_zones(outside.ring))["z"]
    assert (load.clients, load.topics, load.brokers, load.in_sync) == (1, 1, 3, 2)


def test_a_high_epoch_is_named_on_a_ring_that_holds_nothing(outside):
    """Though versions may grow by so much at a time only."""
    epoch = 5 * MAX_VERSION_STEP // VERSIONS
    broker = Broker(outside)
    broker.on_the_ring.lead(term(epoch=epoch))
    outside.pass_time(0.5)

    assert broker.put == [epoch]
    assert primary(outside).epoch == epoch
    successor = Broker(outside, Place("b", "b:1", "z"))
    successor.on_the_ring.lead(term(epoch=2 * epoch, leader="b"))
    outside.pass_time(0.5)
    assert primary(outside).epoch == 2 * epoch


def test_publishers_are_told_of_at_once(outside):
    """By the ring's word of a change, and by looking when that went missing."""
    broker = Broker(outside)
    broker.on_the_ring.start()
    outside.pass_time(0.1)
    entry = Entry(clients_of("z"), CLIENT, 1, messages.encode(SOURCE), 10.0)

    broker.on_the_ring.on_changed(entry)
    assert broker.clients[-1] == [Client("t", 0xFF, SOURCE)]
    broker.on_the_ring.on_changed(Entry(clients_of("z"), CLIENT, 2, b"", 0.0, deleted=True))
    assert broker.clients[-1] == []

    result(outside, outside.ring.put(clients_of("z"), CLIENT, messages.encode(SOURCE), 100.0))
    outside.pass_time(POLL_S)
    assert broker.clients[-1] == [Client("t", 0xFF, SOURCE)]


def test_a_broker_is_told_of_changes_and_counts_as_no_client(outside):
    """Its own entry is how the ring knows whom to tell."""
    broker = Broker(outside)
    broker.on_the_ring.start()
    outside.pass_time(0.1)

    entries = result(outside, outside.ring.get(clients_of("z")))
    assert [(entry.entry, entry.notify) for entry in entries] == [(BROKER + "a", "notify-a")]
    assert broker.on_the_ring.load == 0


def test_what_was_known_is_told_again_to_a_new_primary(outside):
    """It begins with every publisher of the zone, not with the next change."""
    broker = Broker(outside)
    broker.on_the_ring.on_changed(Entry(clients_of("z"), CLIENT, 1, messages.encode(SOURCE), 10.0))
    broker.on_the_ring.on_changed(Entry(clients_of("y"), CLIENT, 1, messages.encode(SOURCE), 10.0))

    broker.on_the_ring.read_out()

    assert broker.clients == [[Client("t", 0xFF, SOURCE)]] * 2


def test_a_broker_that_leaves_takes_its_entry_off_and_is_told_no_more(outside):
    """The entry `primary` stays: the next primary's takes its place."""
    broker = Broker(outside)
    broker.on_the_ring.start()
    broker.on_the_ring.lead(term())
    outside.pass_time(0.1)

    for operation in broker.on_the_ring.withdraw():
        result(outside, operation)

    assert result(outside, outside.ring.get(clients_of("z"))) == []
    assert primary(outside) is not None
    told = len(broker.clients)
    broker.on_the_ring.on_changed(Entry(clients_of("z"), CLIENT, 1, messages.encode(SOURCE), 10.0))
    assert len(broker.clients) == told
