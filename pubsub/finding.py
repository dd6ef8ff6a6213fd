"""Finding the publishers of a subscriber's topics through the ring, connecting to them, and letting them go."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import zmq

from chord.addresses import endpoint
from chord.effects import Operation
from chord.errors import LocalProtocolError
from chord.identifiers import hexadecimal
from chord.messages import Entry
from chord.sockets import make_socket
from pubsub import messages
from pubsub.connection import Connection
from pubsub.io_thread import IoThread
from pubsub.messages import PublisherRecord, SubscriberRecord, Unsubscribe
from pubsub.profile import Profile
from pubsub.registration import PUBLISHER, SUBSCRIBER, Registration, keep, keep_subscriber, withdraw
from pubsub.subscription import SILENT_FOR_S, Subscription
from pubsub.zone_view import ZoneView
from pubsub.zones import ZonePrimary, clients_of, producer_of, tell_if_unserved

UNLISTED_FOR_S = 3.0
UNLISTED_IN_ZONE_FOR_S = 30.0
"""A publisher that the ring does not name any more is kept for as long as it was heard within this time; longer when
brokers have its samples, for they may be electing a primary."""

ZONE_SILENT_FOR_S = 1.2
"""A zone of which nothing was heard for this long may have another primary."""

LEFT_OFF_KEPT = 4_096


class _LeftOff(NamedTuple):
    """Where a publisher was let go: its stream, what came next, what was taken, what lost, and what had not come."""

    stream: int
    next: int
    taken: int
    lost: int
    missing: int


class Finding:
    """The subscriptions of one subscriber: one to each publisher that the ring names for one of its topics.

    Each is read at its own address, or, for a subscriber of a zone, at that of the zone's primary. `readable` is called
    for a connection that has something to read. Everything here runs in the I/O thread.
    """

    def __init__(
        self,
        io: IoThread,
        name: str,
        requested: Profile,
        topics: list[str],
        lease_s: float,
        readable: Callable[[Connection], None],
    ) -> None:
        self.registrations: dict[str, Registration] = {}
        self.view: ZoneView | None = None
        """The zone that is read from, if one is."""
        self.subscriptions: dict[tuple[str, int], tuple[Subscription, Connection]] = {}
        self._io = io
        self._name = name
        self._requested = requested
        self._topics = topics
        self._lease_s = lease_s
        self._in_zone: Registration | None = None
        self._read_once: set[str] = set()
        self._came_first: set[tuple[str, int]] = set()
        self._listed: dict[tuple[str, int], PublisherRecord] = {}
        self._readable = readable
        self._connections: dict[str, Connection] = {}
        self._unlisted: set[tuple[str, int]] = set()
        self._left_off: OrderedDict[tuple[str, int], _LeftOff] = OrderedDict()
        self._forgotten = 0
        self._next_stream = 1
        self._left = False
        self._was_short = False

    def prepare(self, zone: str) -> None:
        """Make the registrations; `zone` is empty for direct dissemination. Called by the application, once."""
        value = messages.encode(SubscriberRecord(self._requested, zone))

        def registration(record: str, notify: str) -> Registration:
            return Registration(record, SUBSCRIBER + self._name, value, notify, self._lease_s, warn=self._io.warn)

        if zone:
            self.view = ZoneView(zone, self._io.ring, self._io.driver.start, self._on_primary)
            self._in_zone = registration(clients_of(zone), "")
        self.registrations = {topic: registration(topic, self._io.kernel.address) for topic in self._topics}

    def start(self) -> None:
        """Register for every topic."""
        if self.view is not None and self._in_zone is not None:
            self._io.driver.start(self.view.keep_looking())
            self._io.driver.start(tell_if_unserved(self._io.ring, self.view.zone, self._io.warn))
            self._io.driver.start(keep(self._io.ring, self._in_zone))
        for topic, registration in self.registrations.items():
            self._io.driver.start(keep_subscriber(self._io.ring, registration, self._finder(topic)))

    def _finder(self, topic: str) -> Callable[[list[Entry]], None]:
        return lambda entries: self._on_record(topic, entries)

    def on_changed(self, entry: Entry) -> None:
        """The ring says that an entry of a record changed."""
        if entry.name not in self.registrations or not entry.entry.startswith(PUBLISHER):
            return
        key = _publisher(entry)
        if key is None:
            return
        if entry.deleted:
            self._listed.pop(key, None)
            if key in self.subscriptions:
                self._unlisted.add(key)
        else:
            self._found(entry, key)

    def _on_record(self, topic: str, entries: list[Entry]) -> None:
        found = {key: entry for entry in entries if (key := _publisher(entry)) is not None}
        for key in [key for key in self._listed if key[0] == topic and key not in found]:
            del self._listed[key]
        for key, entry in found.items():
            self._found(entry, key)
        if topic not in self._read_once:
            self._read_once.add(topic)
            self._came_first.update(found)
        self._unlisted.update(key for key in self.subscriptions if key[0] == topic and key not in found)
        self._io.gate.open()

    def _found(self, entry: Entry, key: tuple[str, int]) -> None:
        if self._left:
            return  # the ring still tells of changes, until it has taken the entries off
        record = messages.publisher_record(entry.value)
        if record is None:
            return
        self._unlisted.discard(key)
        if self.view is not None:
            self._listed[key] = record
        self._read(key, record)

    def _read(self, key: tuple[str, int], record: PublisherRecord) -> None:
        """Read a publisher where it is to be read."""
        now = time.monotonic()
        held = self.subscriptions.get(key)
        address = record.address
        if self.view is not None:
            if self.view.primary is None:
                return  # once there is one
            address = self.view.primary.address
            if held is not None and held[1].address == address:
                return
        elif held is not None and (held[1].address == address or held[0].silent_s(now) <= SILENT_FOR_S):
            return
        try:
            connection = self._connections.get(address) or self._connect(address)
        except LocalProtocolError:
            return  # no address: its publisher is as good as absent
        except zmq.ZMQError as error:
            self._not_connected(key, address, error)
            return
        if held is None:
            subscription = self._begin(key, record, now)
        else:
            # The ring names another address than the one that does not answer, or another primary.
            subscription, silent = held
            _let_go(key, subscription, silent)
        self.subscriptions[key] = (subscription, connection)
        connection.let_go.discard(subscription.stream)
        connection.by_stream[subscription.stream] = subscription
        connection.by_topic[key] = subscription
        connection.say(subscription.subscribe(now))

    def _on_primary(self, _primary: ZonePrimary) -> None:
        """The zone has another primary, which goes on where this subscriber is."""
        for key, (subscription, _) in list(self.subscriptions.items()):
            if subscription.source is not None:
                self._read(key, subscription.source)
        for key, record in list(self._listed.items()):
            self._read(key, record)

    def on_not_primary(self) -> None:
        """The broker that is read from is not the primary: the ring names it, or soon will."""
        if self.view is not None:
            self.view.refused()

    def _not_connected(self, key: tuple[str, int], address: str, error: zmq.ZMQError) -> None:
        """Say so once: it may be that nothing can be connected to any more, for want of descriptors."""
        if not self._was_short:
            self._was_short = True
            topic, publisher = key
            self._io.warn(
                f"topic {topic!r}: publisher {hexadecimal(publisher)} at {address} cannot be connected to: {error}; "
                "trying again, and saying this of no other"
            )

    def _begin(self, key: tuple[str, int], record: PublisherRecord, now: float) -> Subscription:
        """The subscription to a publisher that is new, or that was let go before."""
        topic, publisher = key
        left_off = self._left_off.pop(key, None)
        stream = self._next_stream if left_off is None else left_off.stream
        subscription = Subscription(stream, topic, publisher, self._name, self._requested, now)
        if self.view is not None:
            subscription.fence = self.view.fence
            subscription.source = record
            subscription.earlier = topic in self._read_once and key not in self._came_first
        if left_off is None:
            self._next_stream += 1
        else:
            subscription.next = left_off.next
            subscription.taken = subscription.queued = left_off.taken
            subscription.lost = left_off.lost
        return subscription

    def _connect(self, address: str) -> Connection:
        target = endpoint(address)
        socket = make_socket(self._io.context, zmq.DEALER)
        # What is said before the connection is made waits for it.
        socket.setsockopt(zmq.IMMEDIATE, 0)
        try:
            socket.connect(target)
        except zmq.ZMQError:
            socket.close(linger=0)
            raise
        connection = Connection(address, socket)
        self._connections[address] = connection
        self._io.driver.watch(socket, lambda: self._readable(connection))
        return connection

    def publishers(self) -> list[tuple[str, str]]:
        """Topic and identifier of every publisher that is read, or tried. Called by the application."""
        return [(topic, hexadecimal(publisher)) for topic, publisher in list(self.subscriptions)]

    @property
    def lost(self) -> int:
        """Samples known to be missed; also those still missing when their publisher was let go, unless it is back."""
        read = sum(subscription.lost for subscription, _ in list(self.subscriptions.values()))
        left_off = sum(each.lost + each.missing for each in list(self._left_off.values()))
        return self._forgotten + left_off + read

    def is_listed(self, subscription: Subscription) -> bool:
        """Whether the ring names the publisher."""
        return (subscription.topic, subscription.publisher) not in self._unlisted

    def tick(self, now: float) -> None:
        """Ask publishers again that fell silent, and let go of those that are gone."""
        if self._left:
            return
        if self.view is not None:
            self._tick_zone(self.view, now)
        for key, (subscription, connection) in list(self.subscriptions.items()):
            if key in self._unlisted and self._is_over(subscription, now):
                self._drop(key, subscription, connection)
                continue
            again = subscription.tick(now)
            if again is not None:
                connection.say(again)
        for address, connection in list(self._connections.items()):
            if not connection.by_stream:
                self._close(address, connection)

    def _tick_zone(self, view: ZoneView, now: float) -> None:
        """Look for another primary when the one that is read from is not heard."""
        silent_s = min((each.quiet_s(now) for each, _ in self.subscriptions.values()), default=0.0)
        if silent_s > ZONE_SILENT_FOR_S:
            view.hurry()
        else:
            view.calm()

    def _is_over(self, subscription: Subscription, now: float) -> bool:
        """Whether there is nothing more to come from a publisher that the ring does not name."""
        if self.view is None:
            return subscription.refused or subscription.silent_s(now) > UNLISTED_FOR_S
        return subscription.refused or subscription.gone or subscription.quiet_s(now) > UNLISTED_IN_ZONE_FOR_S

    def _drop(self, key: tuple[str, int], subscription: Subscription, connection: Connection) -> None:
        if subscription.refused:
            _leave(key, subscription, connection)
        else:
            _let_go(key, subscription, connection)
        if subscription.next is not None:
            # Noted before it goes: whoever sees no publisher any more sees all that was lost.
            taken, lost, missing = subscription.taken, subscription.lost, subscription.missing
            left_off = _LeftOff(subscription.stream, subscription.next, taken, lost, missing)
            self._left_off[key] = left_off
            if len(self._left_off) > LEFT_OFF_KEPT:
                _, oldest = self._left_off.popitem(last=False)
                self._forgotten += oldest.lost + oldest.missing
        del self.subscriptions[key]
        self._unlisted.discard(key)

    def finish(self) -> list[Operation[Any]]:
        """Say good-bye to the publishers, follow none any more, and take the entries off the ring. May be repeated."""
        if not self._left:
            self._left = True
            if self.view is not None:
                self.view.closed = True
            self._leave_all(time.monotonic())
        kept = [*self.registrations.values(), *([self._in_zone] if self._in_zone else [])]
        return [withdraw(self._io.ring, registration) for registration in kept]

    def _leave_all(self, now: float) -> None:
        """The connections stay, for the good-bye to leave over them, but for those where nobody is: it would wait."""
        for address, connection in list(self._connections.items()):
            if all(subscription.silent_s(now) > UNLISTED_FOR_S for subscription in connection.by_stream.values()):
                self._close(address, connection)
        for key, (subscription, connection) in self.subscriptions.items():
            self._forgotten += subscription.lost
            if connection.address in self._connections:
                _leave(key, subscription, connection)
        self.subscriptions.clear()

    def _close(self, address: str, connection: Connection) -> None:
        self._io.driver.unwatch(connection.socket)
        connection.socket.close(linger=0)
        del self._connections[address]


def _leave(key: tuple[str, int], subscription: Subscription, connection: Connection) -> None:
    """Want nothing more of a publisher."""
    connection.say(Unsubscribe(subscription.stream))
    _take_off(key, subscription, connection)


def _let_go(key: tuple[str, int], subscription: Subscription, connection: Connection) -> None:
    """Follow a silent publisher no more, without a good-bye: one that only stood still is to keep what we lack."""
    connection.let_go.add(subscription.stream)
    _take_off(key, subscription, connection)


def _take_off(key: tuple[str, int], subscription: Subscription, connection: Connection) -> None:
    del connection.by_stream[subscription.stream]
    connection.by_topic.pop(key, None)


def _publisher(entry: Entry) -> tuple[str, int] | None:
    """The topic and the publisher that an entry is of, or None if it is of none."""
    digits = entry.entry.removeprefix(PUBLISHER)
    producer = None if digits == entry.entry else producer_of(digits)
    return None if producer is None else (entry.name, producer)
