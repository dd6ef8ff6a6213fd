"""Clients of different zones and of none meet on a topic, and go on meeting while primaries end."""

from __future__ import annotations

import signal
from collections.abc import Callable

from pubsub.client import Publisher, Subscriber
from tests.integration.broker.traffic import Traffic
from tests.integration.broker.zones import Ground, Zone
from tests.waiting import eventually


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


def test_a_publisher_counts_the_subscribers_behind_its_zone(ground: Ground, new_zone: Callable[[], Zone]):
    """Those of its own zone, of others and of none; the zones in between count for none."""
    one, two = new_zone(), new_zone()
    started = one.launch(1) + two.launch(1)
    one.wait_ready(started[:1])
    two.wait_ready(started[1:])
    topic = f"behind {one.name} and {two.name}"
    with one.publisher() as publisher:
        publisher.advertise(topic)
        with one.subscriber(topic), two.subscriber(topic), two.subscriber(topic):
            publisher.wait_for_readers(topic, 3, 10.0)
            with Subscriber([topic], via=ground.via) as late:
                publisher.wait_for_readers(topic, 4, 10.0)
                assert publisher.readers(topic) == 4

                publisher.publish(topic, b"first")

                sample = late.receive(10.0)
                assert sample is not None and sample.payload == b"first"
        eventually(lambda: publisher.readers(topic) == 0, what="nobody reads any more")
