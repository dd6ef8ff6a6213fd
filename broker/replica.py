"""One broker of a zone: leads or follows as ZooKeeper says.

Whoever speaks of a higher epoch makes a primary ask ZooKeeper at once; it does not step down on anybody's word. Should
ZooKeeper be away, it goes on, and does no harm: nothing that it receives alone becomes safe, and whoever has heard of
the higher epoch takes nothing from it (docs/decisions/007-election-and-epochs.md).
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from broker.backup import Backup
from broker.messages import Follow, NotFollowed, StreamList
from broker.outside import Outside
from broker.place import Place
from broker.primary import Primary
from broker.registration import OnTheRing
from broker.stream import BACKUP, Stream
from broker.streams import Streams
from broker.zone_state import Term
from pubsub.batch import Batch
from pubsub.limits import TOLD_AT_ONCE
from pubsub.messages import Fenced, Gone, Heartbeat, Heartbeats, Mismatched, NotPrimary, Subscribe, Unreadable
from pubsub.mismatch import Mismatch
from pubsub.reader import Reader
from pubsub.zone_view import Fence
from pubsub.zones import Client

HEARTBEAT_S = 0.5
TICK_S = 0.25
ACKNOWLEDGE_S = 0.02
FEW = 64
"""Streams with something to acknowledge that are looked at whenever something happens; more are only so often."""

STOOD_STILL_S = 2.0
"""A pause between two ticks from which on the broker stood still itself, stopped or swapped out."""


class Replica:
    """The process feeds in what arrives and the time; what is to be done comes back through `outside`.

    `notify` is where the ring tells of changes. `suspect(broker, address)` has the process find out whether a silent
    primary's address refuses connections. `ready()` is called once it serves, or follows.
    """

    def __init__(
        self,
        place: Place,
        notify: str,
        outside: Outside,
        suspect: Callable[[str, str], None],
        ready: Callable[[], None],
    ) -> None:
        self.streams = Streams(outside)
        self.role: Primary | Backup | None = None
        self.fence = Fence()
        self.on_the_ring = OnTheRing(place, notify, outside, self._named, self._on_publishers)
        self._place = place
        self._outside = outside
        self._suspect = suspect
        self._ready = ready
        self._heartbeat_at = 0.0
        self._tick_at = 0.0
        self._acknowledge_at = 0.0

    # Authority -----------------------------------------------------------------------------------------------------

    def on_term(self, term: Term) -> None:
        """ZooKeeper says who leads. What is older than what has been heard elsewhere is no news."""
        role = self.role
        if term.epoch == 0 or not self.fence.admits(term.epoch):
            return
        if role is not None and role.term.epoch == term.epoch:
            role.term = term
            if isinstance(role, Primary):
                role.in_sync.on_term(term)
                self.on_the_ring.lead(term)
        elif term.leader == self._place.broker:
            self._lead(term)
        else:
            self._follow(term)

    def _lead(self, term: Term) -> None:
        if isinstance(self.role, Primary):
            self.role.close()  # ZooKeeper had lost the zone: elected again, it goes on with what it has
        else:
            self._leave_role()
        zone = self._place.zone
        self._outside.event("elected", f"zone {zone} epoch {term.epoch}")
        self.role = Primary(self._place, term, self.streams, self._outside)
        self.on_the_ring.lead(term)
        self.on_the_ring.read_out()

    def _follow(self, term: Term) -> None:
        if isinstance(self.role, Primary):
            self._outside.warn(f"zone {self._place.zone}: {self._place.broker} was deposed in epoch {term.epoch}")
            self._outside.event("deposed", f"zone {self._place.zone} epoch {term.epoch}")
        self._leave_role()
        suspect = self._suspect
        self.role = Backup(
            self._place, term, self.streams, self._outside, self.fence, lambda: suspect(term.leader, term.address)
        )

    def _leave_role(self) -> None:
        """What a primary has kept is worth nothing to its successor, which goes on by itself."""
        if isinstance(self.role, Primary):
            self.on_the_ring.follow()
            self.role.close()
            self.say_not_primary()
            self._outside.forget_all()
            self.streams.clear()
        self.role = None

    def say_not_primary(self) -> None:
        """Send every reader and backup to the ring."""
        if not isinstance(self.role, Primary):
            return
        for stream in self.streams.by_number.values():
            for reader in stream.writer.readers.values():
                self._outside.tell(reader.route, NotPrimary(reader.stream, self.fence.epoch))
            for pending in stream.pending.values():
                self._outside.tell(pending.route, NotPrimary(pending.message.stream, self.fence.epoch))
        for follower in self.role.in_sync.followers.values():
            self._outside.tell(follower.route, NotFollowed(self.fence.epoch))

    def _named(self, epoch: int) -> None:
        self._outside.event("serving", f"zone {self._place.zone} epoch {epoch}")
        self._ready()

    def _on_publishers(self, clients: list[Client]) -> None:
        if isinstance(self.role, Primary):
            self.role.on_clients(clients)

    # What readers say ----------------------------------------------------------------------------------------------

    def admit(self, route: bytes, message: Subscribe) -> Stream | Gone | NotPrimary | None:
        """What a reader is served by, or told; None when it has to wait."""
        if isinstance(self.role, Primary):
            return self.role.admit(route, message)
        if self.role is not None:
            return self.role.admit(message)
        return NotPrimary(message.stream, max(self.fence.epoch, message.zone_epoch))

    def on_other(self, route: bytes, message: Follow, now: float) -> None:
        """A backup says that it lives."""
        if isinstance(self.role, Primary):
            self.role.on_follow(route, message, now)
        else:
            self._outside.tell(route, NotFollowed(self.fence.epoch))

    def mismatched(self, stream: Stream, mismatch: Mismatch) -> None:
        """A reader requests more than is offered: the publisher is told, as if it had asked there."""
        if stream.address:
            told = Mismatched(stream.number, mismatch.other, mismatch.policies, mismatch.text)
            self._outside.ask(stream.address, told)

    # What sources say ----------------------------------------------------------------------------------------------

    def on_batch(self, address: str, batch: Batch, now: float) -> Stream | None:
        """A batch came; the stream whose readers are to be sent it, if any."""
        stream = self.streams.on_batch(address, batch, now)
        if stream is None or not isinstance(self.role, Primary):
            if stream is not None:
                stream.settle_up(())
            return None
        if stream.pending and stream.primed:
            self.role.release(stream)
        return stream

    def on_message(self, address: str, message: msgspec.Struct, now: float) -> None:
        """A source said something."""
        if isinstance(message, Heartbeats):
            for beat in message.beats:
                self.on_message(address, beat, now)
            return
        role = self.role
        if isinstance(message, StreamList):
            if isinstance(role, Backup) and address == role.term.address:
                first = not role.complete
                role.on_streams(message, now)
                if first and role.complete:
                    self._ready()
        elif isinstance(message, NotPrimary | Fenced):
            self._on_refused(address, message)
        elif not isinstance(message, NotFollowed | Unreadable):
            stream = self.streams.on_message(address, message, now)  # type: ignore[arg-type]  # all that is left
            if stream is not None:
                self._on_said(stream, message)

    def _on_refused(self, address: str, message: NotPrimary | Fenced) -> None:
        stream = self.streams.by_number.get(message.stream)
        if stream is None or stream.address != address or not isinstance(self.role, Primary):
            return
        if isinstance(message, Fenced):
            self._outside.look_again()
        else:
            self.role.on_not_primary(stream)

    def _on_said(self, stream: Stream, message: msgspec.Struct) -> None:
        if isinstance(self.role, Primary):
            if stream.pending and stream.primed:
                self.role.release(stream)
            self._outside.touch(stream)
            if isinstance(message, Heartbeat):
                self.solicit(stream)
        elif isinstance(message, Heartbeat):
            stream.writer.log.trim(message.oldest)

    # Time ----------------------------------------------------------------------------------------------------------

    def solicit(self, stream: Stream) -> None:
        """The source wants to know how far the zone is: have the backups that are behind say so at once."""
        newest = stream.writer.log.next_sequence - 1
        for reader in stream.writer.readers.values():
            if reader.name.startswith(BACKUP) and reader.received < newest:
                self._outside.tell(reader.route, self._beat_of(stream, reader.stream))

    def _beat_of(self, stream: Stream, number: int) -> Heartbeat:
        log = stream.writer.log
        return Heartbeat(number, log.next_sequence - 1, log.first_sequence, self.fence.epoch)

    def settle_up(self, stream: Stream) -> None:
        """Something happened to a stream: count what its source may forget."""
        role = self.role
        stream.settle_up(role.in_sync.waited_for if isinstance(role, Primary) else ())
        self.streams.unsaid[stream.number] = stream
        stream.writer.trim()

    def work(self, now: float) -> bool:
        """Do what is due; whether it was a tick, when the readers that fell silent are to be given up."""
        if now >= self._acknowledge_at or len(self.streams.unsaid) <= FEW:
            self._acknowledge_at = now + ACKNOWLEDGE_S
            self.streams.acknowledge(now)
        if now < self._tick_at:
            return False
        role = self.role
        if isinstance(role, Primary) and now - self._tick_at > STOOD_STILL_S:
            role.stood_still(now - self._tick_at, now)
        self._tick_at = now + TICK_S
        if role is not None:
            role.tick(now)
        if isinstance(role, Primary):
            for stream in self.streams.by_number.values():
                self.settle_up(stream)
        self.streams.tick(now)
        if now < self._heartbeat_at:
            return False
        self._heartbeat_at = now + HEARTBEAT_S
        if isinstance(role, Primary):
            self._heartbeat(now)
            role.tell_of_readers()
        return True

    def _heartbeat(self, now: float) -> None:
        """Tell every reader of every stream what is the newest, in few messages: thousands would be in the way."""
        due: dict[bytes, list[tuple[Reader, Heartbeat]]] = {}
        for stream in self.streams.by_number.values():
            for reader in stream.writer.readers.values():
                due.setdefault(reader.route, []).append((reader, self._beat_of(stream, reader.stream)))
        for route, each in due.items():
            for start in range(0, len(each), TOLD_AT_ONCE):
                readers, beats = zip(*each[start : start + TOLD_AT_ONCE], strict=True)
                if self._outside.tell(route, beats[0] if len(beats) == 1 else Heartbeats(beats)):
                    continue
                for reader in readers:
                    reader.detached_at = now if reader.detached_at is None else reader.detached_at
