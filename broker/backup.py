"""A zone's backup: follows the primary, and keeps what it keeps, so as to go on where it ends."""

from __future__ import annotations

from collections.abc import Callable

from broker.messages import Follow, StreamList
from broker.outside import Outside
from broker.place import Place
from broker.stream import BACKUP
from broker.streams import Key, Streams
from broker.zone_state import Term
from pubsub.messages import NotPrimary, Subscribe
from pubsub.zone_view import Fence

FOLLOW_S = 0.5
LIST_AGAIN_S = 2.0
"""How often the primary is asked for all of its streams, at most, when one may have ended: it has if not listed."""

SUSPECT_S = 0.7
"""A primary that was silent for longer is suspected: whether its address refuses connections tells."""


class Backup:
    """Follows the leader of one epoch. `fence` is the zone's. `suspect()` is called again and again while the leader is
    silent."""

    def __init__(
        self,
        place: Place,
        term: Term,
        streams: Streams,
        outside: Outside,
        fence: Fence,
        suspect: Callable[[], None],
    ) -> None:
        self.term = term
        self.heard_at: float | None = None
        self.complete = False
        """Whether the primary has told of every stream that it has, at least once."""
        self._place = place
        self._streams = streams
        self._outside = outside
        self._fence = fence
        self._suspect = suspect
        self._have = 0
        self._began_at = outside.now()
        self._follow_at = 0.0
        self._list_at = 0.0
        self._left_over: set[Key] = set(streams.by_key)
        """Streams of which the primary has not told since it was asked for all of them."""
        for stream in streams.by_number.values():
            stream.address = ""  # until the new primary tells of it

    def admit(self, message: Subscribe) -> NotPrimary:
        """Readers are served by the primary."""
        return NotPrimary(message.stream, max(self.term.epoch, message.zone_epoch))

    def on_streams(self, message: StreamList, now: float) -> None:
        """The primary told of streams."""
        if not self._fence.admits(message.zone_epoch):
            return
        self.heard_at = now
        if message.after > self._have:
            self._follow_at = now  # those in between went missing
            return
        for entry in message.entries:
            key = (entry.topic, entry.producer)
            stream = self._streams.by_key.get(key) or self._streams.add(*key, entry.source)
            if stream is None:
                return  # it is not in sync any more, for it has not all that there is
            self._left_over.discard(key)
            stream.inherited = frozenset(entry.readers)
            self._have = max(self._have, entry.number)
            address = self.term.address
            if stream.address != address or stream.ended_at is not None:
                name = BACKUP + self._place.broker
                self._outside.ask(address, stream.read(address, name, self._fence, 0, now))
        if not message.complete:
            self._follow_at = now
            return
        self.complete = True
        for key in self._left_over & self._streams.by_key.keys():
            self._streams.remove(self._streams.by_key[key], good_bye=False)
        self._left_over.clear()

    def tick(self, now: float) -> None:
        """Say that this backup lives, and ask for what is new."""
        if now >= self._list_at and any(stream.ended_at is not None for stream in self._streams.by_number.values()):
            self._list_at = now + LIST_AGAIN_S
            self._follow_at = now
            self._have = 0
            self._left_over = set(self._streams.by_key)
        if now >= self._follow_at:
            self._follow_at = now + FOLLOW_S
            follow = Follow(self._place.broker, self._place.zone, self.term.epoch, self._have)
            self._outside.ask(self.term.address, follow)
        if now - (self.heard_at or self._began_at) > SUSPECT_S:
            self._suspect()
