"""The ROUTER of a writer, at a publisher or a broker: reads what readers say, and tells them what there is to tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import zmq

from chord.errors import RemoteProtocolError
from chord.sockets import NOBLOCK, POLLIN, RCVMORE, Socket
from pubsub import messages
from pubsub.attending import Admit, Attending, Other, S, nothing_else
from pubsub.messages import Unreadable
from pubsub.mismatch import Mismatch

MESSAGES_AT_ONCE = 256

EVENTS = int(zmq.EVENTS)


class Hearing(Attending[S]):
    """Attends to the readers at a ROUTER; `decode` reads their messages."""

    def __init__(
        self,
        name: str,
        warn: Callable[[str], None],
        router: Socket,
        admit: Admit[S],
        mismatched: Callable[[S, Mismatch], None],
        decode: Callable[[bytes], Any] = messages.from_subscriber,
        other: Other = nothing_else,
    ) -> None:
        super().__init__(name, warn, admit, mismatched, other)
        self._router = router
        self._decode = decode

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
                continue
            try:
                message = self._decode(frame)
            except RemoteProtocolError as error:
                self.say(route, Unreadable(str(error)))
            else:
                self.on_message(route, message, now)
        return True

    def is_readable(self) -> bool:
        """Whether a reader said something."""
        return has_more(self._router)

    def say(self, route: bytes, message: msgspec.Struct) -> bool:
        """Tell a reader something; returns whether it can be reached."""
        try:
            self._router.send_multipart((route, messages.encode(message)), NOBLOCK)
        except zmq.Again:
            return True  # it is full, not away; if it misses this, it asks again
        except zmq.ZMQError:
            return False
        return True


def has_more(socket: Socket) -> bool:
    """Whether a socket has something to read."""
    events: int = socket.getsockopt(EVENTS)  # type: ignore[assignment]  # an int, for this option
    return bool(events & POLLIN)
