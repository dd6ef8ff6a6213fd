"""The I/O side of a subscriber: receives what publishers send, and tells them how far it is."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

import zmq

from chord.effects import Operation
from chord.errors import RemoteProtocolError
from chord.identifiers import hexadecimal
from chord.sockets import NOBLOCK
from pubsub import messages
from pubsub.batch import Batch
from pubsub.connection import Arrived, Connection
from pubsub.finding import Finding
from pubsub.io_thread import IoThread
from pubsub.keep_alive import KeepAlive
from pubsub.layout import MAGIC
from pubsub.limits import TOLD_AT_ONCE
from pubsub.messages import (
    Ack,
    Acks,
    Fenced,
    Gone,
    Heartbeat,
    Heartbeats,
    Incompatible,
    NoRoom,
    NotPrimary,
    Subscribed,
    Unsubscribe,
)
from pubsub.mismatch import Mismatch, Mismatches
from pubsub.profile import Profile
from pubsub.sample import Sample
from pubsub.subscription import ACK_PAUSE_S, Subscription
from pubsub.trace import DeliveryTrace

TICK_S = 0.25
MESSAGES_AT_ONCE = 64

FEW = 8
LONGEST_ACK_PAUSE_S = 0.2
"""So many subscriptions are acknowledged whenever something happens; the more there are, the more are acknowledged
together, and up to this much later. What many publishers send would else cost a message back for each sample."""


class Subscribing:
    """Receives the samples of some topics. Runs in the I/O thread; the application takes from `queue`."""

    def __init__(self, io: IoThread, name: str, requested: Profile, topics: list[str], lease_s: float) -> None:
        self.queue: deque[Arrived] = deque()
        self.taken: deque[Arrived] = deque()
        self.mismatches = Mismatches()
        self.on_sample: Callable[[Sample], object] | None = None
        self.keep_alive: KeepAlive | None = None
        self.failed: Exception | None = None
        self.urgent = False
        """The application has made room that a publisher may be waiting for."""
        self.finding = Finding(io, name, requested, topics, lease_s, self._on_readable)
        self._io = io
        self._name = name
        self._gate = io.gate
        self._touched: dict[int, tuple[Subscription, Connection]] = {}
        self._left = False
        self._ack_at = 0.0
        self._tick_at = 0.0

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
        if subscription is None or self.failed is not None:
            return
        now = time.monotonic()
        skip = subscription.on_batch(batch, now)
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
        """Hand the samples over at once; the first error of the application's ends everything: see `_leave`."""
        if self.keep_alive is None:
            self.keep_alive = KeepAlive(self._sign_of_life, self._name)
        self.keep_alive.pause()
        try:
            for sample in arrived.samples():
                on_sample(sample)
        except Exception as error:
            self.failed = error
            return
        finally:
            self.keep_alive.resume()
        arrived.let_go()
        if self._io.tracing.on:
            self.taken.append(arrived)

    def _on_message(self, connection: Connection, message: messages.FromPublisher) -> None:
        if isinstance(message, messages.Unreadable | Fenced):
            return
        if isinstance(message, Heartbeats):
            for beat in message.beats:
                self._on_message(connection, beat)
            return
        subscription = connection.by_stream.get(message.stream)
        if subscription is None:
            if message.stream not in connection.let_go and not isinstance(message, Gone | NoRoom | NotPrimary):
                connection.say(Unsubscribe(message.stream))
            return
        now = time.monotonic()
        if isinstance(message, NotPrimary):
            self.finding.on_not_primary()
            return
        if isinstance(message, Subscribed | Heartbeat) and not subscription.fence.admits(message.zone_epoch):
            return
        self._touched[subscription.stream] = subscription, connection
        if isinstance(message, Heartbeat):
            again = subscription.on_heartbeat(message.last, now)
            if again is not None:
                connection.say(again)
        elif isinstance(message, Subscribed):
            subscription.on_subscribed(message.after, now)
        elif isinstance(message, Incompatible):
            subscription.refused = True
            publisher = hexadecimal(subscription.publisher)
            self.mismatches.add(Mismatch(subscription.topic, publisher, message.policies, message.text))
        elif isinstance(message, NoRoom):
            if subscription.on_no_room():
                self._io.warn(f"topic {subscription.topic!r}: {message.text}; asking again until there is room")
        else:
            self._on_gone(connection, subscription, now)

    def _on_gone(self, connection: Connection, subscription: Subscription, now: float) -> None:
        """The publisher closed, or gave this reader up while it was silent: ask once, and let it go if it stays so."""
        subscription.heard_at = None
        subscription.gone = True
        if now - subscription.asked_at > TICK_S and self.finding.is_listed(subscription):
            connection.say(subscription.subscribe(now))

    # Time ----------------------------------------------------------------------------------------------------------

    def work(self, now: float) -> bool:
        """Acknowledge what came and what was taken; look after publishers that fell silent."""
        if self.failed is not None and not self._left:
            self._leave()
        subscriptions = self.finding.subscriptions
        if self.urgent or now >= self._ack_at:
            self.urgent = False
            self._ack_at = now + min(ACK_PAUSE_S * max(1.0, len(subscriptions) / FEW), LONGEST_ACK_PAUSE_S)
            self._acknowledge(subscriptions.values(), now)
        elif self._touched and len(subscriptions) <= FEW:
            self._acknowledge(self._touched.values(), now)
        self._touched.clear()
        if now >= self._tick_at:
            self._tick_at = now + TICK_S
            self.finding.tick(now)  # closes connections, which nothing may be said over from then on
        self._trace()
        return False

    def _leave(self) -> None:
        """The application failed, and `close` will raise its error: take nothing more, and be nobody's reader."""
        self._left = True
        self._touched.clear()
        self._io.warn(f"subscriber {self._name} receives nothing more, its on_sample failed: {self.failed!r}")
        for operation in self.finding.finish():
            self._io.driver.start(operation)
        self._gate.open()

    def _acknowledge(self, subscriptions: Iterable[tuple[Subscription, Connection]], now: float) -> None:
        due: dict[Connection, list[Ack]] = {}
        for subscription, connection in subscriptions:
            ack = subscription.ack(now)
            if ack is not None:
                due.setdefault(connection, []).append(ack)
        for connection, acks in due.items():
            if len(acks) == 1:
                connection.say(acks[0])
                continue
            for start in range(0, len(acks), TOLD_AT_ONCE):
                connection.say(Acks(tuple(acks[start : start + TOLD_AT_ONCE])))

    def _sign_of_life(self) -> None:
        """Tell the publishers that their reader lives. Called while the I/O thread is in the application's callback."""
        for subscription, connection in self.finding.subscriptions.values():
            sign = subscription.sign_of_life()
            if sign is not None:
                connection.say(sign)

    def finish(self) -> list[Operation[Any]]:
        """Say good-bye to the publishers, with how far the application is, and take the entries off the ring."""
        self._acknowledge(self.finding.subscriptions.values(), time.monotonic())
        self._trace()
        if self.keep_alive is not None:
            self.keep_alive.close()
        return self.finding.finish()

    def _trace(self) -> None:
        tracing = self._io.tracing
        taken = self.taken
        while taken:
            arrived = taken.popleft()
            if not tracing.on:
                continue
            had = arrived.batch.count - arrived.skip - arrived.left
            for sample in islice(arrived.samples(), had):
                tracing.append(
                    DeliveryTrace(
                        topic=sample.topic,
                        mode="direct" if self.finding.view is None else "brokered",
                        publisher=sample.publisher,
                        subscriber=self._name,
                        sequence=sample.sequence,
                        published_us=sample.published_us,
                        received_us=sample.received_us,
                    )
                )
