"""A zone's primary ends or stands still under traffic, with real processes: all of it arrives, once and in order."""

from __future__ import annotations

import signal

import pytest

from tests.integration.broker.traffic import Traffic
from tests.integration.broker.zones import Zone
from tests.waiting import eventually


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_primary_that_ends_costs_nothing(zone: Zone, how: signal.Signals):
    """Two publishers and two subscribers, and two primaries in a row, until one broker is left."""
    zone.grow(3)
    with (
        zone.subscriber() as one,
        zone.subscriber() as other,
        zone.publisher() as first,
        zone.publisher() as second,
        Traffic(zone.name, [first, second], [one, other]) as traffic,
    ):
        traffic.flows()
        for epoch in (1, 2):
            zone.harm(how)
            traffic.flows()
            assert zone.epoch == epoch + 1
            zone.wait_in_sync()
    assert traffic.epochs() == [1, 2, 3]


def test_a_primary_that_stood_still_is_fenced(zone: Zone):
    """SIGSTOP for longer than its session, then SIGCONT: it was deposed, and comes back as a backup in sync."""
    zone.grow(3)
    with (
        zone.subscriber() as reader,
        zone.publisher() as writer,
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
