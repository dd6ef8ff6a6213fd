"""The I/O side of a subscriber: finds publishers, connects to them, and queues what they send."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

import zmq

from chord.effects import Operation
from chord.errors import LocalProtocolError, RemoteProtocolError
from chord.messages import Entry
from chord.sockets import endpoint, make_socket
from pubsub import messages
from pubsub.batch import MAGIC, Batch
from pubsub.connection import NOBLOCK, Arrived, Connection
from pubsub.io_thread import IoThread
from pubsub.messages import Gone, Heartbeat, Incompatible, Subscribed, Unsubscribe
from pubsub.mismatch import MISMATCHES_KEPT, Mismatch
from pubsub.profile import Profile
from pubsub.registration import PUBLISHER, SUBSCRIBER, Registration, keep_subscriber, withdraw
from pubsub.sample import Sample
from pubsub.subscription import ACK_PAUSE_S, Subscription
from pubsub.trace import DeliveryTrace

TICK_S = 0.25
UNLISTED_FOR_S = 3.0
"""A publisher that the ring does not name any more is kept for as long as it was heard within this time."""

MESSAGES_AT_ONCE = 64
LEFT_OFF_KEPT = 4_096


class Subscribing:
    """Reads topics from every publisher that the ring names. Everything here runs in the I/O thread."""

    def __init__(
        self, io: IoThread, name: str, requested: Profile, topics: list[str], address: str, lease_s: float
    ) -> None:
        self.queue: deque[Arrived] = deque()
        self.taken: deque[Arrived] = deque()
        self.mismatches: deque[Mismatch] = deque(maxlen=MISMATCHES_KEPT)
        self.on_mismatch: Callable[[Mismatch], None] | None = None
        self.on_sample: Callable[[Sample], object] | None = None
        self.failed: Exception | None = None
        self.urgent = False
        """The application has made room that a publisher may be waiting for."""
        self.lost = 0
        value = messages.encode(messages.SubscriberRecord(requested))
        self.registrations = {
            topic: Registration(topic, SUBSCRIBER + name, value, address, lease_s) for topic in topics
        }
        self._io = io
        self._name = name
        self._requested = requested
        self._gate = io.gate
        self._connections: dict[str, Connection] = {}
        self._subscriptions: dict[tuple[str, int], tuple[Subscription, Connection]] = {}
        self._unlisted: set[tuple[str, int]] = set()
        self._left_off: OrderedDict[tuple[str, int], tuple[int, int]] = OrderedDict()
        self._next_stream = 1
        self._touched: dict[int, tuple[Subscription, Connection]] = {}
        self._ack_at = 0.0
        self._tick_at = 0.0

    # Finding publishers --------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Register for every topic."""
        for topic, registration in self.registrations.items():
            self._io.driver.start(keep_subscriber(self._io.ring, registration, self._finder(topic)))

    def _finder(self, topic: str) -> Callable[[list[Entry]], None]:
        return lambda entries: self._on_record(topic, entries)

    def on_changed(self, entry: Entry) -> None:
        """The ring says that an entry of a record changed."""
        if entry.name not in self.registrations or not entry.entry.startswith(PUBLISHER):
            return
        publisher = _publisher(entry)
        if publisher is None:
            return
        if entry.deleted:
            if (entry.name, publisher) in self._subscriptions:
                self._unlisted.add((entry.name, publisher))
        else:
            self._found(entry, publisher)

    def _on_record(self, topic: str, entries: list[Entry]) -> None:
        listed = set()
        for entry in entries:
            publisher = _publisher(entry)
            if publisher is not None:
                listed.add(publisher)
                self._found(entry, publisher)
        self._unlisted.update(key for key in self._subscriptions if key[0] == topic and key[1] not in listed)
        self._gate.open()

    def _found(self, entry: Entry, publisher: int) -> None:
        record = messages.publisher_record(entry.value)
        key = (entry.name, publisher)
        if record is None or record.mode != "direct":
            return
        self._unlisted.discard(key)
        if key in self._subscriptions:
            return
        try:
            connection = self._connections.get(record.address) or self._connect(record.address)
        except (LocalProtocolError, zmq.ZMQError):
            return  # an address that cannot be connected to: its publisher is as good as absent
        now = time.monotonic()
        subscription = Subscription(self._next_stream, entry.name, publisher, self._name, self._requested, now)
        self._next_stream += 1
        if key in self._left_off:
            subscription.next, subscription.taken = self._left_off.pop(key)
            subscription.queued = subscription.taken
        self._subscriptions[key] = (subscription, connection)
        connection.by_stream[subscription.stream] = subscription
        connection.by_topic[key] = subscription
        connection.say(subscription.subscribe(now))

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
        self._io.driver.watch(socket, lambda: self._on_readable(connection))
        return connection

    def publishers(self) -> list[tuple[str, str]]:
        """Topic and identifier of every publisher that is read, or tried. Called by the application."""
        return [(topic, f"{publisher:016x}") for topic, publisher in list(self._subscriptions)]

    # What publishers send ------------------------------------------------------------------------------------------

    def _on_readable(self, connection: Connection) -> None:
        receive = connection.socket.recv
        for _ in range(MESSAGES_AT_ONCE):
            try:
                frame = receive(NOBLOCK)
            except zmq.Again:
                break
            try:
                if frame and frame[0] == MAGIC:
                    self._on_batch(connection, Batch(frame))
                else:
                    self._on_message(connection, messages.from_publisher(frame))
            except RemoteProtocolError:
                continue  # what it may have held is missed, and asked for again

    def _on_batch(self, connection: Connection, batch: Batch) -> None:
        subscription = connection.by_topic.get((batch.origin.topic, batch.origin.producer))
        if subscription is None:
            return
        now = time.monotonic()
        lost = subscription.lost
        skip = subscription.on_batch(batch, now)
        self.lost += subscription.lost - lost
        self._touched[subscription.stream] = subscription, connection
        if skip is not None:
            arrived = Arrived(subscription, batch, skip, time.time_ns() // 1000)
            if self.on_sample is None:
                self.queue.append(arrived)
                self._gate.open()
            else:
                self._call_back(self.on_sample, arrived)
        elif subscription.gap:
            connection.say(subscription.subscribe(now))

    def _call_back(self, on_sample: Callable[[Sample], object], arrived: Arrived) -> None:
        """Hand the samples over at once; the first error of the application's ends that, and `close` raises it."""
        if self.failed is not None:
            return
        try:
            for sample in arrived.samples():
                on_sample(sample)
        except Exception as error:
            self.failed = error
            return
        arrived.let_go()
        if self._io.spool is not None:
            self.taken.append(arrived)

    def _on_message(self, connection: Connection, message: messages.FromPublisher) -> None:
        if isinstance(message, messages.Unreadable):
            return
        subscription = connection.by_stream.get(message.stream)
        if subscription is None:
            if not isinstance(message, Gone):
                connection.say(Unsubscribe(message.stream))
            return
        now = time.monotonic()
        self._touched[subscription.stream] = subscription, connection
        if isinstance(message, Heartbeat):
            again = subscription.on_heartbeat(message.last, now)
            if again is not None:
                connection.say(again)
        elif isinstance(message, Subscribed):
            lost = subscription.lost
            subscription.on_subscribed(message.after, now)
            self.lost += subscription.lost - lost
        elif isinstance(message, Incompatible):
            subscription.refused = True
            publisher = f"{subscription.publisher:016x}"
            self._mismatch(Mismatch(subscription.topic, publisher, message.policies, message.text))
        else:
            self._on_gone(connection, subscription, now)

    def _on_gone(self, connection: Connection, subscription: Subscription, now: float) -> None:
        """The publisher closed, or dropped this reader while it was silent: ask once, and let it go if it stays so."""
        subscription.heard_at = None
        key = (subscription.topic, subscription.publisher)
        if now - subscription.asked_at > TICK_S and key not in self._unlisted:
            connection.say(subscription.subscribe(now))

    def _mismatch(self, mismatch: Mismatch) -> None:
        if mismatch not in self.mismatches:
            self.mismatches.append(mismatch)
            if self.on_mismatch is not None:
                self.on_mismatch(mismatch)
            self._gate.open()

    # Time ----------------------------------------------------------------------------------------------------------

    def work(self, now: float) -> bool:
        """Acknowledge what came and what was taken; look after publishers that fell silent."""
        if now >= self._tick_at:
            self._tick_at = now + TICK_S
            self._tick(now)
        if self.urgent or now >= self._ack_at:
            self.urgent = False
            self._ack_at = now + ACK_PAUSE_S
            self._acknowledge(self._subscriptions.values(), now)
        elif self._touched:
            self._acknowledge(self._touched.values(), now)
        self._touched.clear()
        self._trace()
        return False

    def _acknowledge(self, subscriptions: Iterable[tuple[Subscription, Connection]], now: float) -> None:
        for subscription, connection in subscriptions:
            ack = subscription.ack(now)
            if ack is not None:
                connection.say(ack)

    def _tick(self, now: float) -> None:
        for key, (subscription, connection) in list(self._subscriptions.items()):
            if key in self._unlisted and (subscription.refused or subscription.silent_s(now) > UNLISTED_FOR_S):
                self._drop(key, subscription, connection)
                continue
            again = subscription.tick(now)
            if again is not None:
                connection.say(again)
        for address, connection in list(self._connections.items()):
            if not connection.by_stream:
                self._io.driver.unwatch(connection.socket)
                connection.socket.close(linger=0)
                del self._connections[address]

    def _drop(self, key: tuple[str, int], subscription: Subscription, connection: Connection) -> None:
        connection.say(Unsubscribe(subscription.stream))
        del self._subscriptions[key]
        del connection.by_stream[subscription.stream]
        connection.by_topic.pop(key, None)
        self._unlisted.discard(key)
        if subscription.next is not None:
            self._left_off[key] = (subscription.next, subscription.taken)
            if len(self._left_off) > LEFT_OFF_KEPT:
                self._left_off.popitem(last=False)

    def finish(self) -> list[Operation[Any]]:
        """Say good-bye to the publishers, and take the entries off the ring."""
        for subscription, connection in self._subscriptions.values():
            ack = subscription.ack(time.monotonic())
            if ack is not None:
                connection.say(ack)
            connection.say(Unsubscribe(subscription.stream))
        now = time.monotonic()
        for connection in self._connections.values():
            if all(subscription.silent_s(now) > UNLISTED_FOR_S for subscription in connection.by_stream.values()):
                # Nobody is there; the good-bye would keep the context waiting.
                self._io.driver.unwatch(connection.socket)
                connection.socket.close(linger=0)
        self._trace()
        return [withdraw(self._io.ring, registration) for registration in self.registrations.values()]

    def _trace(self) -> None:
        spool = self._io.spool
        taken = self.taken
        while taken:
            arrived = taken.popleft()
            if spool is None:
                continue
            had = arrived.batch.count - arrived.skip - arrived.left
            for sample in islice(arrived.samples(), had):
                spool.append(
                    DeliveryTrace(
                        topic=sample.topic,
                        mode="direct",
                        publisher=sample.publisher,
                        subscriber=self._name,
                        sequence=sample.sequence,
                        published_us=sample.published_us,
                        received_us=sample.received_us,
                    )
                )


def _publisher(entry: Entry) -> int | None:
    """The publisher that an entry is of, or None if it is of none."""
    digits = entry.entry.removeprefix(PUBLISHER)
    if digits == entry.entry or len(digits) != 16 or not digits.isascii() or not digits.isalnum():
        return None
    try:
        return int(digits, 16)
    except ValueError:
        return None
