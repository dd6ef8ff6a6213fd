"""Clients of different zones and of none meet on a topic, and go on meeting while primaries end."""

from __future__ import annotations

import signal
from collections.abc import Callable

from pubsub.client import Publisher, Subscriber
from tests.integration.broker.traffic import Traffic
from tests.integration.broker.zones import Ground, Zone


def test_everybody_meets_whatever_zone_they_chose(ground: Ground, new_zone: Callable[[], Zone]):
    """Publishers in one zone and in none, subscribers in two zones and in none; either zone's primary is killed."""
    one, two = new_zone(), new_zone()
    started = one.launch(2)
    two.grow(2)
    one.wait_ready(started)
    one.wait_in_sync()
    topic = f"{one.name} and {two.name}"
    with (
        one.subscriber(topic) as in_one,
        two.subscriber(topic) as in_two,
        Subscriber([topic], via=ground.via) as nowhere,
        two.publisher() as by_two,
        Publisher(via=ground.via) as direct,
        Traffic(topic, [by_two, direct], [in_one, in_two, nowhere], pace_s=0.004) as traffic,
    ):
        traffic.flows()
        for zone in (one, two):
            zone.harm(signal.SIGKILL)
            traffic.flows()
            assert zone.epoch == 2
        in_zone = [reading.epochs[by_two.id] for reading in traffic.readings]
        assert [sorted(set(epochs)) for epochs in in_zone] == [[1, 2], [1, 2], [0]]
