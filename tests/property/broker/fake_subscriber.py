"""A subscriber of a zone in memory: what its drivers do, around production subscriptions."""

from __future__ import annotations

import random
from typing import Any

from chord.identifiers import hexadecimal
from chord.kernel import Kernel
from chord.messages import Entry
from pubsub import messages
from pubsub.batch import Batch
from pubsub.layout import MAGIC
from pubsub.messages import (
    Gone,
    Heartbeat,
    Heartbeats,
    NotPrimary,
    PublisherRecord,
    Subscribed,
    SubscriberRecord,
    Unsubscribe,
)
from pubsub.profile import Profile
from pubsub.registration import PUBLISHER, SUBSCRIBER, Registration, keep, keep_subscriber, withdraw
from pubsub.subscription import Subscription
from pubsub.zone_view import ZoneView
from pubsub.zones import clients_of, producer_of
from tests.property.broker.fake_publisher import TOPIC
from tests.property.broker.fake_ring import FakeRing
from tests.property.broker.links import Links

TICK_S = 0.25
ZONE_SILENT_FOR_S = 1.2


class FakeSubscriber:
    """A subscriber of a zone: pubsub/finding.py and pubsub/subscribing.py. `had` are the samples by producer."""

    def __init__(self, number: int, zone: str, links: Links, ring: FakeRing, history: int, now: float) -> None:
        self.name = hexadecimal(number)
        self.address = f"subscriber{number}:1"
        self.notify = f"notify-{number}"
        self.awake = True
        self.kernel = Kernel("test", self.notify, random.Random(1))
        self.kernel.now = now
        self.had: dict[int, list[int]] = {}
        self.lost_before: dict[int, int] = {}
        self.subscriptions: dict[int, Subscription] = {}
        self._addresses: dict[int, str] = {}
        self._links = links
        self._ring = ring
        self._requested = Profile("at_least_once", "transient" if history else "volatile", history)
        self._records: dict[int, PublisherRecord] = {}
        self._read_once = False
        self._next_stream = 1
        self._tick_at = 0.0
        self._highest = 0
        self.view = ZoneView(zone, ring, self.kernel.start, lambda _primary: self._read_all())  # type: ignore[arg-type]
        links.servers[self.address] = self
        value = messages.encode(SubscriberRecord(self._requested, zone))
        self._kept = [
            Registration(clients_of(zone), SUBSCRIBER + self.name, value),
            Registration(TOPIC, SUBSCRIBER + self.name, value, self.notify),
        ]
        self.kernel.start(self.view.keep_looking())
        self.kernel.start(keep(ring, self._kept[0]))  # type: ignore[arg-type]
        self.kernel.start(keep_subscriber(ring, self._kept[1], self._on_record))  # type: ignore[arg-type]

    @property
    def registered(self) -> bool:
        return self._kept[1].registered

    def leave(self) -> None:
        """Say good-bye."""
        self.view.closed = True
        for producer, subscription in self.subscriptions.items():
            self._say(producer, Unsubscribe(subscription.stream))
        for registration in self._kept:
            self.kernel.start(withdraw(self._ring, registration))  # type: ignore[arg-type]
        self.subscriptions.clear()

    # Finding -------------------------------------------------------------------------------------------------------

    def on_changed(self, entry: Entry) -> None:
        if not entry.deleted:
            self._found(entry)
        elif (producer := producer_of(entry.entry.removeprefix(PUBLISHER))) is not None:
            self._records.pop(producer, None)

    def _on_record(self, entries: list[Entry]) -> None:
        self._records.clear()
        for entry in entries:
            self._found(entry)
        self._read_once = True

    def _found(self, entry: Entry) -> None:
        producer = producer_of(entry.entry.removeprefix(PUBLISHER))
        record = messages.publisher_record(entry.value)
        if not entry.entry.startswith(PUBLISHER) or producer is None or record is None or self.view.closed:
            return
        self._records[producer] = record
        self._read(producer)

    def _read_all(self) -> None:
        for producer in self._records.keys() | self.subscriptions.keys():
            self._read(producer)

    def _read(self, producer: int) -> None:
        primary = self.view.primary
        if primary is None or self._addresses.get(producer) == primary.address:
            return
        subscription = self.subscriptions.get(producer)
        if subscription is None:
            subscription = Subscription(
                self._next_stream,
                TOPIC,
                producer,
                self.name,
                self._requested,
                self.kernel.now,
                self.view.fence,
                self._records[producer],
                self._read_once,
            )
            self._next_stream += 1
            self.subscriptions[producer] = subscription
            self.had[producer] = []
            self.lost_before[producer] = 0
        self._addresses[producer] = primary.address
        self._say(producer, subscription.subscribe(self.kernel.now))

    # Subscribing ---------------------------------------------------------------------------------------------------

    def on_request(self, _route: bytes, _frame: bytes) -> None:
        raise AssertionError("nobody connects to a subscriber")

    def on_reply(self, address: str, frame: bytes) -> None:
        if frame[0] == MAGIC:
            self._on_batch(address, Batch(frame))
        else:
            self._on_message(address, messages.from_publisher(frame))

    def _on_batch(self, address: str, batch: Batch) -> None:
        producer, now = batch.origin.producer, self.kernel.now
        subscription = self.subscriptions.get(producer)
        if subscription is None or self._addresses[producer] != address:
            return
        skip = subscription.on_batch(batch, now)
        if skip is not None:
            assert batch.zone_epoch >= self._highest, f"epoch {batch.zone_epoch} after {self._highest}"
            self._highest = batch.zone_epoch
            self.had[producer] += range(batch.first + skip, batch.last + 1)
            subscription.taken = batch.last
            subscription.taken_weight += batch.weight
        elif subscription.gap:
            self._say(producer, subscription.subscribe(now))
        self._acknowledge(producer)

    def _on_message(self, address: str, message: Any) -> None:
        if isinstance(message, Heartbeats):
            for beat in message.beats:
                self._on_message(address, beat)
            return
        now = self.kernel.now
        producer = next((each for each, kept in self.subscriptions.items() if kept.stream == message.stream), None)
        if producer is None or self._addresses[producer] != address:
            return
        subscription = self.subscriptions[producer]
        if isinstance(message, NotPrimary):
            self.view.refused()
        elif isinstance(message, Gone):
            subscription.heard_at = None
            if producer not in self._records:
                del self.subscriptions[producer]
                return
            if now - subscription.asked_at > TICK_S:
                self._say(producer, subscription.subscribe(now))
        elif isinstance(message, Subscribed | Heartbeat) and subscription.fence.admits(message.zone_epoch):
            self._highest = max(self._highest, message.zone_epoch)
            if isinstance(message, Subscribed):
                self._begin(subscription, producer, message, now)
            else:
                again = subscription.on_heartbeat(message.last, now)
                if again is not None:
                    self._say(producer, again)
        self._acknowledge(producer)

    def _begin(self, subscription: Subscription, producer: int, message: Subscribed, now: float) -> None:
        subscription.on_subscribed(message.after, now)
        # Where a late one begins may move on until its first sample: its zone may not have read there yet.
        had = self.had[producer]
        assert not had or subscription.lost == self.lost_before[producer], f"{self.name} had {had}, and lost: {message}"
        self.lost_before[producer] = subscription.lost

    def work(self, now: float) -> None:
        self.kernel.on_timer(now)
        for producer in list(self.subscriptions):
            self._acknowledge(producer)
        if now < self._tick_at:
            return
        self._tick_at = now + TICK_S
        heard = [each.began_at if each.heard_at is None else each.heard_at for each in self.subscriptions.values()]
        if heard and now - max(heard) > ZONE_SILENT_FOR_S:
            self.view.hurry()
        else:
            self.view.calm()
        for producer, subscription in self.subscriptions.items():
            again = subscription.tick(now)
            if again is not None:
                self._say(producer, again)

    def _acknowledge(self, producer: int) -> None:
        ack = self.subscriptions[producer].ack(self.kernel.now)
        if ack is not None:
            self._say(producer, ack)

    def _say(self, producer: int, message: Any) -> None:
        self._links.say(self, self._addresses[producer], message)
