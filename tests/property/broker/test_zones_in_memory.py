"""Zones lose nothing, repeat nothing and reorder nothing, whatever breaks, as long as one broker in sync lives."""

from __future__ import annotations

from types import MappingProxyType

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.property.broker.world import World

CONVERGED_WITHIN_S = 30.0
RING_DOWN_S = 0.5

which = st.integers(0, 2**16)
holds_s = st.sampled_from([0.0, 0.0, 0.1, 0.4, 1.0])
pauses_s = st.sampled_from([0.1, 0.3, 0.02, 0.0, 1.0])


class Zone(RuleBasedStateMachine):
    """One zone of three brokers, one publisher and one subscriber to begin with."""

    zones = MappingProxyType({"z": 3})

    @initialize(session_s=st.sampled_from([2.0, 6.0]), history=st.sampled_from([0, 2]), settled_s=pauses_s)
    def begin(self, session_s, history, settled_s):
        self.world = World(dict(self.zones), session_s)
        self.history = history
        self.names = sorted(self.zones)
        self.down_at = -RING_DOWN_S
        self.world.run(1.0)
        for zone in self.zones:
            self.world.start_subscriber(zone, history)
        self.world.run(settled_s)
        self.world.start_publisher("z", history)

    def choose(self, among, index):
        among = list(among)
        return among[index % len(among)]

    @rule(index=which, count=st.integers(1, 3))
    def publish(self, index, count):
        self.choose(self.world.publishers, index).publish(count)

    @rule(seconds=st.sampled_from([0.02, 0.06, 0.2, 0.5, 1.0, 2.5]), traffic=st.booleans())
    def time_passes(self, seconds, traffic):
        self.world.traffic = traffic
        self.world.run(seconds)

    @precondition(lambda self: self.world.links.links)
    @rule(index=which, hold_s=holds_s, pause_s=pauses_s)
    def a_connection_is_in_trouble(self, index, hold_s, pause_s):
        self.world.trouble(self.choose(self.world.links.links.values(), index), hold_s)
        self.world.run(pause_s)

    @precondition(lambda self: self.world.links.links)
    @rule(index=which, count=st.integers(1, 3), pause_s=pauses_s)
    def some_messages_pass(self, index, count, pause_s):
        link = self.choose(self.world.links.links.values(), index)
        for _ in range(count):
            self.world.links.pass_on(link)
        self.world.check()
        self.world.run(pause_s)

    @rule(index=which, pause_s=pauses_s)
    def a_broker_crashes(self, index, pause_s):
        broker = self.choose(self.world.brokers.values(), index)
        if self.world.may_crash(broker):
            self.world.crash(broker)
        self.world.run(pause_s)

    @rule(zone=which, again=st.booleans(), pause_s=pauses_s)
    def a_broker_starts(self, zone, again, pause_s):
        name = self.choose(self.names, zone)
        if sum(broker.place.zone == name for broker in self.world.brokers.values()) < 4:
            self.world.start_broker(name, self.world.free_address(name) if again else "")
        self.world.run(pause_s)

    @rule(index=which, pause_s=pauses_s)
    def a_broker_stands_still_or_goes_on(self, index, pause_s):
        broker = self.choose(self.world.brokers.values(), index)
        broker.awake = not broker.awake
        self.world.run(pause_s)

    @rule(index=which, pause_s=pauses_s)
    def a_broker_is_cut_off_from_zookeeper_or_not(self, index, pause_s):
        authority = self.choose(self.world.brokers.values(), index).authority
        authority.connected = not authority.connected
        self.world.run(pause_s)

    @rule()
    def the_ring_is_away_for_a_moment(self):
        if self.world.now - self.down_at > 10 * RING_DOWN_S:
            self.down_at = self.world.now
            self.world.ring.down = True
            self.world.run(RING_DOWN_S)
            self.world.ring.down = False

    @precondition(lambda self: len(self.world.publishers) < 2)
    @rule(zone=which, pause_s=pauses_s)
    def another_publisher_starts(self, zone, pause_s):
        self.world.start_publisher(self.choose(self.names, zone), self.history)
        self.world.run(pause_s)

    @precondition(lambda self: len(self.world.publishers) > 1)
    @rule(index=which, pause_s=pauses_s)
    def a_publisher_crashes(self, index, pause_s):
        self.world.crash_publisher(self.choose(self.world.publishers, index))
        self.world.run(pause_s)

    @precondition(lambda self: len(self.world.subscribers) < 4)
    @rule(zone=which, pause_s=pauses_s)
    def a_subscriber_joins(self, zone, pause_s):
        self.world.start_subscriber(self.choose(self.names, zone), self.history)
        self.world.run(pause_s)

    @precondition(lambda self: self.world.subscribers)
    @rule(index=which, pause_s=pauses_s)
    def a_subscriber_leaves(self, index, pause_s):
        """One of its zone stays: a zone without subscribers is not awaited by the next primary of another."""
        subscriber = self.choose(self.world.subscribers, index)
        if sum(each.view.zone == subscriber.view.zone for each in self.world.subscribers) > 1:
            self.world.leave(subscriber)
        self.world.run(pause_s)

    @invariant()
    def what_holds_at_every_moment(self):
        if hasattr(self, "world"):
            self.world.check()

    def teardown(self):
        """Once nothing breaks any more, everything arrives everywhere, and every broker is in sync."""
        if hasattr(self, "world"):
            for publisher in self.world.publishers:
                publisher.publish(1)
            self.world.converge(CONVERGED_WITHIN_S)


class TwoZones(Zone):
    """Two zones, which read each other's publishers."""

    zones = MappingProxyType({"y": 2, "z": 2})


TestZone = Zone.TestCase
TestZone.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestTwoZones = TwoZones.TestCase
TestTwoZones.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
