"""What readers say to a writer, at a publisher or a broker: taking them in, hearing how far they are, giving them up.

Pure: the driver feeds in messages and the time, and says to a route what there is to say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from pubsub.limits import MAX_READERS
from pubsub.messages import (
    Ack,
    Acks,
    Fenced,
    Gone,
    Incompatible,
    Mismatched,
    NoRoom,
    NotPrimary,
    Subscribe,
    Subscribed,
    Unsubscribe,
)
from pubsub.mismatch import Mismatch
from pubsub.profile import explain, incompatible
from pubsub.reader import Reader
from pubsub.writer import Writer

READERS = (Ack, Unsubscribe, Mismatched)


class Served(Protocol):
    """One topic of one producer, with the writer that serves its readers."""

    @property
    def topic(self) -> str:
        """The topic."""

    @property
    def writer(self) -> Writer:
        """What its readers are served by."""


S = TypeVar("S", bound=Served)
NotServed = Gone | NotPrimary
Admit = Callable[[bytes, Subscribe], "S | NotServed | None"]
Other = Callable[[bytes, Any, float], None]


def nothing_else(_route: bytes, _message: Any, _now: float) -> None:
    """There are only readers."""
    raise AssertionError("a message was decoded that nobody takes")


class Attending(Generic[S]):
    """Attends to the readers of a writer. `touched` are the topics in which something was said, to be served next.

    `admit` says what a reader that wants to be served is served by, or is told instead; None: nothing for now.
    `mismatched` hears of readers that request more than is offered, and `other` of messages that are not a reader's.
    """

    def __init__(
        self,
        name: str,
        warn: Callable[[str], None],
        admit: Admit[S],
        mismatched: Callable[[S, Mismatch], None],
        other: Other = nothing_else,
    ) -> None:
        self.touched: dict[int, S] = {}
        self._name = name
        self._warn = warn
        self._admit = admit
        self._mismatched = mismatched
        self._other = other
        self._by_route: dict[tuple[bytes, int], tuple[S, Reader]] = {}
        self._was_full = False

    def say(self, route: bytes, message: msgspec.Struct) -> bool:
        """Tell a reader something; returns whether it can be reached."""
        raise NotImplementedError

    def touch(self, served: S) -> None:
        """Have a topic served next."""
        self.touched[id(served)] = served

    def forget_all(self) -> None:
        """Serve nobody any more."""
        self._by_route.clear()
        self.touched.clear()

    def on_message(self, route: bytes, message: Any, now: float) -> None:
        """Somebody said something."""
        kind = type(message)
        if kind is Subscribe:
            self.subscribe(route, message, now)
            return
        if kind is Acks:
            for ack in message.acks:
                self.on_message(route, ack, now)
            return
        if kind not in READERS:
            self._other(route, message, now)
            return
        known = self._by_route.get((route, message.stream))
        if known is None:
            self.say(route, Gone(message.stream))
            return
        served, reader = known
        if kind is Ack and message.reader_epoch < reader.epoch:
            self.say(route, Fenced(message.stream, reader.epoch))
        elif kind is Ack:
            served.writer.acknowledge(reader, message, now)
        elif kind is Mismatched:
            self._mismatched(served, Mismatch(served.topic, message.reader, message.policies, message.text))
        else:
            self._forget(served, reader)
        self.touch(served)

    def subscribe(self, route: bytes, message: Subscribe, now: float) -> None:
        """Take a reader in, or tell it why not."""
        served = self._admit(route, message)
        if served is None:
            return
        if isinstance(served, NotServed):
            self.say(route, served)
            return
        writer = served.writer
        policies = incompatible(writer.offered, message.requested)
        if policies:
            text = explain(writer.offered, message.requested, policies)
            self.say(route, Incompatible(message.stream, policies, text))
            writer.refuse(message.reader)
            self.touch(served)
            self._mismatched(served, Mismatch(message.topic, message.reader, policies, text))
            return
        known_epoch = writer.epoch_of(message)
        if message.reader_epoch < known_epoch:
            self.say(route, Fenced(message.stream, known_epoch))
            return
        old = writer.readers.get(message.reader)
        if old is not None:
            self._by_route.pop((old.route, old.stream), None)
        if len(self._by_route) >= MAX_READERS:
            self._refuse(route, message)
            return
        reader, after = writer.subscribe(route, message, now)
        self._by_route[route, reader.stream] = (served, reader)
        newest, epoch = writer.log.next_sequence - 1, writer.zone_epoch
        if message.after is None and reader.began < after:
            # that it begins later is what it has lost
            self.say(route, Subscribed(reader.stream, reader.began, newest, epoch))
        self.say(route, Subscribed(reader.stream, after, newest, epoch))
        self.touch(served)

    def _refuse(self, route: bytes, message: Subscribe) -> None:
        """There are too many readers. Whoever is refused is told, and goes on asking; our own side is told once."""
        self.say(route, NoRoom(message.stream, f"{self._name} has {MAX_READERS} readers already"))
        if not self._was_full:
            self._was_full = True
            self._warn(
                f"topic {message.topic!r}: subscriber {message.reader} was refused, and so is everybody until a reader "
                f"leaves: {self._name} has {MAX_READERS} readers, and serves no more"
            )

    def _forget(self, served: S, reader: Reader) -> None:
        self._by_route.pop((reader.route, reader.stream), None)
        if served.writer.readers.get(reader.name) is reader:
            served.writer.remove(reader.name)

    def forget(self, served: S) -> None:
        """Serve a topic no more, and tell its readers."""
        for reader in served.writer.readers.values():
            self._by_route.pop((reader.route, reader.stream), None)
            self.say(reader.route, Gone(reader.stream))
        self.touched.pop(id(served), None)

    def forget_silent(self, served: S, now: float) -> None:
        """Give up the readers of a topic that fell silent, and say who of them lacks samples."""
        silent, lacking = served.writer.forget_silent(now)
        for reader in silent:
            self._by_route.pop((reader.route, reader.stream), None)
        for note in lacking:
            self._warn(f"topic {served.topic!r}: {note.text}")
