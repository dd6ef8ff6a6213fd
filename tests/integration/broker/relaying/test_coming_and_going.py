"""Brokers that come at once, come back, or are gone for good."""

from __future__ import annotations

import signal

import pytest

from chord.client import RingClient
from tests.integration.broker.traffic import Traffic
from tests.integration.broker.zones import Ground, Zone
from tests.waiting import eventually


@pytest.mark.parametrize("count", [2, 3])
def test_of_brokers_that_start_at_the_same_instant_one_is_primary(zone: Zone, count: int):
    """In epoch 1, and all are in sync in the end."""
    brokers = zone.grow(count)

    assert zone.epoch == 1
    eventually(lambda: zone.elected() == [(1, zone.primary.id)], what="one was elected")
    assert len({broker.address for broker in brokers}) == count


def test_a_broker_comes_back_at_its_old_address(zone: Zone):
    """At once after kill -9, while its old election node lives on; then the primary that took over ends as well."""
    zone.grow(3)
    with zone.subscriber() as reader, zone.publisher() as writer, Traffic(zone.name, [writer], [reader]) as traffic:
        traffic.flows()
        for epoch in (1, 2):
            killed = zone.harm(signal.SIGKILL)
            (back,) = zone.launch(port=killed.port)
            traffic.flows()
            zone.wait_ready([back])
            zone.wait_in_sync()
            assert (back.address, zone.epoch) == (killed.address, epoch + 1)
            assert back.id not in {killed.id, zone.primary.id}
    assert traffic.epochs() == [1, 2, 3]


def test_the_only_broker_is_succeeded_when_its_session_ends(zone: Zone):
    """By one at another address, then by one at the same; what its clients publish after that goes on as ever."""
    zone.grow(1)
    with zone.subscriber() as reader, zone.publisher() as writer:
        published = 0
        for epoch, at_old_address in ((1, False), (2, True), (3, True)):
            for _ in range(10):
                published += 1
                assert writer.publish(zone.name, b"%d" % published) == published
            taken = [reader.receive(20.0) for _ in range(10)]
            assert [sample and int(sample.payload) for sample in taken] == list(range(published - 9, published + 1))
            writer.flush()

            killed = zone.harm(signal.SIGKILL)
            zone.grow(1, port=killed.port if at_old_address else 0)

            assert zone.epoch == epoch + 1
        assert reader.lost == 0


def test_zookeeper_away_stops_nothing_that_goes_on(ground: Ground, zone: Zone):
    """Killed for longer than the sessions, and back on the same port and data: still one primary, who may fail over."""
    brokers = zone.grow(3)
    with zone.subscriber() as reader, zone.publisher() as writer, Traffic(zone.name, [writer], [reader]) as traffic:
        traffic.flows()
        ground.zookeeper.kill()
        for broker in brokers:
            eventually(lambda broker=broker: "goes on as it is, but elects nobody" in broker.said(), 20.0)
        traffic.flows()

        ground.zookeeper.restart()

        for broker in brokers:
            eventually(lambda broker=broker: "is back" in broker.said(), 20.0)
        zone.wait_in_sync()
        traffic.flows()
        epoch = zone.epoch
        zone.harm(signal.SIGKILL)
        traffic.flows()
        assert zone.epoch == epoch + 1


def test_a_primary_that_dies_while_zookeeper_is_away_is_succeeded_afterwards(ground: Ground, zone: Zone):
    """Nothing flows meanwhile, and nothing is lost."""
    zone.grow(2)
    with zone.subscriber() as reader, zone.publisher() as writer, Traffic(zone.name, [writer], [reader]) as traffic:
        traffic.flows()
        primary = zone.primary
        ground.zookeeper.kill()
        primary.process.kill()
        primary.process.wait()

        ground.zookeeper.restart()

        traffic.flows()
        zone.wait_in_sync()
        assert zone.epoch == 2


def test_the_ring_away_stops_nothing_that_goes_on():
    """All of it is killed, which brokers say once; when it is back, empty, old and new clients find the zone."""
    with Ground(1) as ground, Zone(ground, options=("--patience", "0.5")) as zone:
        brokers = zone.grow(2)
        with zone.subscriber() as reader, zone.publisher() as writer, Traffic(zone.name, [writer], [reader]) as traffic:
            traffic.flows()
            (node,) = ground.ring.nodes
            port = int(node.address.rpartition(":")[2])
            ground.ring.kill(node)
            for broker in brokers:
                eventually(lambda broker=broker: "the ring does not answer, so no new client" in broker.said())
            traffic.flows()

            ground.ring.wait_ready([ground.ring.launch([], port)])

            for broker in brokers:
                eventually(lambda broker=broker: "the ring answers again" in broker.said())
            with zone.subscriber() as later:
                assert later.receive(20.0) is not None
            with RingClient(ground.via) as client:
                eventually(lambda: f"sub/{reader.id}" in {entry.entry for entry in client.get(zone.name)})
            zone.harm(signal.SIGKILL)
            traffic.flows()
        assert [broker.said().count("the ring does not answer") for broker in brokers] == [1, 1]
