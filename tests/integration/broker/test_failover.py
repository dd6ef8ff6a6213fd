"""A zone's primary ends or stands still under traffic, with real processes: all of it arrives, once and in order."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from pubsub.client import Publisher, Subscriber
from tests.integration.broker.traffic import Traffic
from tests.integration.broker.zones import Ground, Zone
from tests.waiting import eventually


@pytest.fixture(scope="module")
def ground() -> Iterator[Ground]:
    with Ground() as ground:
        yield ground


@pytest.fixture
def zone(ground: Ground) -> Iterator[Zone]:
    """A zone without a broker yet."""
    with Zone(ground) as zone:
        yield zone


def subscriber(ground: Ground, zone: Zone, **more: object) -> Subscriber:
    return Subscriber([zone.name], via=ground.via, zone=zone.name, on_warning=print, **more)


def publisher(ground: Ground, zone: Zone, **more: object) -> Publisher:
    return Publisher(via=ground.via, zone=zone.name, on_warning=print, **more)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_primary_that_ends_costs_nothing(ground: Ground, zone: Zone, how: signal.Signals):
    """Two publishers and two subscribers, and two primaries in a row, until one broker is left."""
    zone.grow(3)
    with (
        subscriber(ground, zone) as one,
        subscriber(ground, zone) as other,
        publisher(ground, zone) as first,
        publisher(ground, zone) as second,
        Traffic(zone.name, [first, second], [one, other]) as traffic,
    ):
        traffic.flows()
        for epoch in (1, 2):
            zone.harm(how)
            traffic.flows()
            assert zone.epoch == epoch + 1
            zone.wait_in_sync()
    assert traffic.epochs() == [1, 2, 3]


def test_a_primary_that_stood_still_is_fenced(ground: Ground, zone: Zone):
    """SIGSTOP for longer than its session, then SIGCONT: it was deposed, and comes back as a backup in sync."""
    zone.grow(3)
    with (
        subscriber(ground, zone) as reader,
        publisher(ground, zone) as writer,
        Traffic(zone.name, [writer], [reader]) as traffic,
    ):
        traffic.flows()
        stopped = zone.harm(signal.SIGSTOP)
        zone.wait_epoch(1)
        traffic.flows()

        stopped.process.send_signal(signal.SIGCONT)

        eventually(lambda: stopped.events("deposed"), what="the resumed primary was deposed")
        zone.wait_in_sync(zone.brokers)
        traffic.flows()
        assert zone.primary is not stopped
    assert traffic.epochs() == [1, 2]
