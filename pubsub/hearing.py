"""What the readers of a publisher say: taking them in, and hearing how far they are."""

from __future__ import annotations

import zmq

from chord.errors import RemoteProtocolError
from chord.sockets import Socket
from chord.zmq_driver import NOBLOCK, POLLIN, RCVMORE
from pubsub import messages
from pubsub.io_thread import IoThread
from pubsub.limits import MAX_READERS
from pubsub.messages import Ack, FromPublisher, Gone, Incompatible, NoRoom, Subscribe, Subscribed, Unreadable
from pubsub.mismatch import Mismatch, Mismatches
from pubsub.outbox import Outbox
from pubsub.profile import explain, incompatible
from pubsub.reader import Reader

MESSAGES_AT_ONCE = 256

EVENTS = int(zmq.EVENTS)


class Hearing:
    """Reads the ROUTER of a publisher. `touched` are the topics in which something was said, to be served next."""

    def __init__(self, io: IoThread, router: Socket, producer: int, outboxes: dict[str, Outbox]) -> None:
        self.touched: dict[str, Outbox] = {}
        self.mismatches = Mismatches()
        self._name = io.name
        self._warn = io.warn
        self._router = router
        self._producer = producer
        self._outboxes = outboxes
        self._by_route: dict[tuple[bytes, int], tuple[Outbox, Reader]] = {}
        self._was_full = False

    def hear(self, now: float) -> bool:
        """Read what readers say; returns whether there is more of it."""
        router = self._router
        if not self.is_readable():
            return False
        for _ in range(MESSAGES_AT_ONCE):
            try:
                route = router.recv(NOBLOCK)
            except zmq.Again:
                return False
            frame = router.recv(NOBLOCK)  # libzmq delivers a message whole or not at all
            if router.getsockopt(RCVMORE):
                # No message of ours, so its frames are dropped one by one: there may be millions.
                while router.getsockopt(RCVMORE):
                    router.recv(NOBLOCK)
            else:
                self._on_frame(route, frame, now)
        return True

    def is_readable(self) -> bool:
        """Whether a reader said something."""
        events: int = self._router.getsockopt(EVENTS)  # type: ignore[assignment]  # an int, for this option
        return bool(events & POLLIN)

    def _on_frame(self, route: bytes, frame: bytes, now: float) -> None:
        try:
            message = messages.from_subscriber(frame)
        except RemoteProtocolError as error:
            self.say(route, Unreadable(str(error)))
            return
        if type(message) is Subscribe:
            self._subscribe(route, message, now)
            return
        known = self._by_route.get((route, message.stream))
        if known is None:
            self.say(route, Gone(message.stream))
            return
        outbox, reader = known
        if type(message) is Ack:
            outbox.writer.acknowledge(reader, message, now)
        else:
            self._forget(outbox, reader)
        self.touched[outbox.topic] = outbox

    def _subscribe(self, route: bytes, message: Subscribe, now: float) -> None:
        outbox = self._outboxes.get(message.topic)
        if outbox is None or message.publisher != self._producer:
            self.say(route, Gone(message.stream))
            return
        writer = outbox.writer
        policies = incompatible(writer.offered, message.requested)
        if policies:
            text = explain(writer.offered, message.requested, policies)
            self.say(route, Incompatible(message.stream, policies, text))
            writer.refuse(message.reader)
            self.touched[outbox.topic] = outbox
            self.mismatches.add(Mismatch(message.topic, message.reader, policies, text))
            return
        old = writer.readers.get(message.reader)
        if old is not None:
            self._by_route.pop((old.route, old.stream), None)
        if len(self._by_route) >= MAX_READERS:
            self._refuse(route, message)
            return
        reader, after = writer.subscribe(route, message, now)
        self._by_route[route, reader.stream] = (outbox, reader)
        if message.after is None and reader.began < after:
            self.say(route, Subscribed(reader.stream, reader.began))  # that it begins later is what it has lost
        self.say(route, Subscribed(reader.stream, after))
        self.touched[outbox.topic] = outbox

    def _refuse(self, route: bytes, message: Subscribe) -> None:
        """There are too many readers. Whoever is refused is told, and goes on asking; our own side is told once."""
        self.say(route, NoRoom(message.stream, f"{self._name} has {MAX_READERS} readers already"))
        if not self._was_full:
            self._was_full = True
            self._warn(
                f"topic {message.topic!r}: subscriber {message.reader} was refused, and so is everybody until a reader "
                f"leaves: {self._name} has {MAX_READERS} readers, and serves no more"
            )

    def _forget(self, outbox: Outbox, reader: Reader) -> None:
        self._by_route.pop((reader.route, reader.stream), None)
        if outbox.writer.readers.get(reader.name) is reader:
            outbox.writer.remove(reader.name)

    def forget_silent(self, outbox: Outbox, now: float) -> None:
        """Give up the readers of a topic that fell silent, and say who of them lacks samples."""
        silent, lacking = outbox.writer.forget_silent(now)
        for reader in silent:
            self._by_route.pop((reader.route, reader.stream), None)
        for note in lacking:
            self._warn(f"topic {outbox.topic!r}: {note.text}")

    def say(self, route: bytes, message: FromPublisher) -> bool:
        """Tell a reader something; returns whether it can be reached."""
        try:
            self._router.send_multipart((route, messages.encode(message)), NOBLOCK)
        except zmq.Again:
            return True  # it is full, not away; if it misses this, it asks again
        except zmq.ZMQError:
            return False
        return True
