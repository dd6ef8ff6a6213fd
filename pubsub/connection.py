"""The connection to one publisher, and the batches that came over it and wait for the application."""

from __future__ import annotations

from collections.abc import Iterator

import zmq

from chord.identifiers import hexadecimal
from chord.sockets import NOBLOCK, Socket
from pubsub import messages
from pubsub.batch import Batch
from pubsub.messages import FromSubscriber
from pubsub.sample import Sample
from pubsub.subscription import Subscription


class Arrived:
    """A batch that waits for the application, without its first `skip` samples; the last `left` are never taken."""

    __slots__ = ("batch", "left", "publisher", "received_us", "skip", "subscription", "weight")

    def __init__(self, subscription: Subscription, batch: Batch, skip: int, received_us: int) -> None:
        self.subscription = subscription
        self.batch = batch
        self.skip = skip
        self.left = 0
        self.received_us = received_us
        self.publisher = hexadecimal(subscription.publisher)
        self.weight = batch.weight

    def samples(self) -> Iterator[Sample]:
        """The samples that were not had before."""
        return self.batch.samples(self.publisher, self.received_us, self.skip)

    def let_go(self) -> None:
        """The application has taken all of it, or what it wants of it."""
        self.subscription.taken = self.batch.last
        self.subscription.taken_weight += self.weight


class Connection:
    """The socket to one publisher, and what is read over it. `let_go` are streams without a good-bye: a publisher that
    only stood still speaks on them again, and is not to take that we follow it no more for one."""

    __slots__ = ("address", "by_stream", "by_topic", "let_go", "socket")

    def __init__(self, address: str, socket: Socket) -> None:
        self.address = address
        self.socket = socket
        self.by_stream: dict[int, Subscription] = {}
        self.by_topic: dict[tuple[str, int], Subscription] = {}
        self.let_go: set[int] = set()

    def say(self, message: FromSubscriber) -> None:
        """Send a message; while the connection is down it waits, or is lost, and is said again by the clock."""
        try:
            self.socket.send(messages.encode(message), NOBLOCK)
        except zmq.Again:
            return
