"""A zone's primary: reads the publishers of its zone, and whoever its subscribers ask for, and serves all readers."""

from __future__ import annotations

from broker.in_sync import Follower, InSync
from broker.messages import READERS_AT_ONCE, STREAMS_AT_ONCE, Follow, NotFollowed, StreamEntry, StreamList
from broker.outside import Outside
from broker.place import Place
from broker.stream import BACKUP, Pending, Stream
from broker.streams import Streams
from broker.zone_state import Term
from chord.effects import Operation, sleep
from chord.errors import RingcastError
from pubsub.messages import Gone, NotPrimary, PublisherRecord, Subscribe
from pubsub.zone_view import Fence, ZoneView
from pubsub.zones import Client, ZonePrimary, readers_of, record_of

RETRY_S = 0.3
UNREAD_FOR_S = 10.0
"""A publisher of elsewhere that nobody reads here is read for this long."""

UNLISTED_FOR_S = 3.0
"""A publisher that is silent and not on the ring for this long has ended."""

UNHEARD_FOR_S = 30.0
"""So has one outside of all zones that is silent for this long. Its readers are told, and ask again if it is listed."""

PENDING_FOR_S = 10.0
"""A reader that waits for a stream to be primed asks again every two seconds, unless it is gone."""

MAX_ZONES = 256
"""Other zones that one primary reads from."""

ENDED_FOR_S = 30.0
"""What an ended publisher left is kept for its readers for this long at most."""

SILENT_FOR_S = 1.2


class Primary:
    """Serves a zone in one epoch. Whether somebody who speaks of a higher one is right, ZooKeeper has to say."""

    def __init__(self, place: Place, term: Term, streams: Streams, outside: Outside) -> None:
        self.term = term
        self.in_sync = InSync(place.broker, term, outside)
        self.closed = False
        self._place = place
        self._streams = streams
        self._outside = outside
        self._views: dict[str, ZoneView] = {}
        self._listed: set[tuple[str, int]] = set()
        for stream in list(streams.by_number.values()):
            stream.fresh = False
            stream.pending.clear()
            stream.read_at = stream.listed_at = outside.now()  # nobody has had the time to come
            self._adopt(stream)

    # Readers -------------------------------------------------------------------------------------------------------

    def admit(self, route: bytes, message: Subscribe) -> Stream | Gone | NotPrimary | None:
        """What a reader is served by; None when it has to wait for what was published before."""
        if message.zone_epoch > self.term.epoch:
            self._outside.look_again()
            return NotPrimary(message.stream, message.zone_epoch)
        stream = self._streams.by_key.get((message.topic, message.publisher))
        if stream is None:
            if message.source is None or message.reader.startswith(BACKUP):
                return Gone(message.stream)
            stream = self._begin(message.topic, message.publisher, message.source)
            if stream is None:
                return Gone(message.stream)
        if not message.reader.startswith(BACKUP):
            stream.read_at = self._outside.now()
        if not stream.primed:
            stream.pending[message.reader] = Pending(route, message, self._outside.now())
            return None
        return stream

    def release(self, stream: Stream) -> None:
        """Serve the readers that waited for a stream's past samples."""
        waiting = list(stream.pending.values())
        stream.pending.clear()
        for pending in waiting:
            self._outside.readmit(pending.route, pending.message)

    def on_follow(self, route: bytes, message: Follow, now: float) -> None:
        """A backup lives: tell it of the streams that it does not know."""
        if message.zone != self._place.zone:
            self._outside.tell(route, NotFollowed(0))
        elif message.zone_epoch > self.term.epoch:
            self._outside.look_again()
            self._outside.tell(route, NotFollowed(message.zone_epoch))
        else:
            follower = self.in_sync.heard(message.broker, route, now)
            if follower is None:
                self._outside.tell(route, NotFollowed(self.term.epoch))
            else:
                follower.told = message.have
                self._tell(follower)

    def _tell(self, follower: Follower) -> None:
        """Tell a backup of streams beyond those that it was told of; of none too, for it listens for a sign of life."""
        entries: list[StreamEntry] = []
        names = 0
        complete = True
        for stream in self._streams.by_number.values():
            if stream.number > follower.told:
                entry = _entry(stream)
                names += len(entry.readers)
                if entries and (len(entries) == STREAMS_AT_ONCE or names > READERS_AT_ONCE):
                    complete = False
                    break
                entries.append(entry)
        self._outside.tell(follower.route, StreamList(self.term.epoch, follower.told, tuple(entries), complete))
        if entries:
            follower.told = entries[-1].number

    def tell_of_readers(self) -> None:
        """Tell the backups of streams that are read by others than they know. That is no end of a list under way."""
        for stream in self._streams.by_number.values():
            readers = stream.reliable_readers(READERS_AT_ONCE)
            if readers != stream.told_of:
                stream.told_of = readers
                for follower in self.in_sync.followers.values():
                    if stream.number <= follower.told:
                        told = StreamList(self.term.epoch, follower.told, (_entry(stream),), False)
                        self._outside.tell(follower.route, told)

    # Sources -------------------------------------------------------------------------------------------------------

    def on_clients(self, clients: list[Client]) -> None:
        """The ring names these publishers in this zone."""
        self._listed = {(client.topic, client.producer) for client in clients}
        now = self._outside.now()
        for client in clients:
            stream = self._streams.by_key.get((client.topic, client.producer))
            if stream is None:
                self._begin(client.topic, client.producer, client.record)
            else:
                stream.listed_at = now

    def _begin(self, topic: str, producer: int, source: PublisherRecord) -> Stream | None:
        stream = self._streams.add(topic, producer, source)
        if stream is not None:
            self._adopt(stream)
            for follower in list(self.in_sync.followers.values()):
                self._tell(follower)
        return stream

    def _adopt(self, stream: Stream) -> None:
        """Read a stream from its source, in the zone's name, and await the readers that the ring names."""
        stream.lead(self.term.epoch)
        stream.address = ""
        zone = stream.source.zone
        if zone in ("", self._place.zone):
            self._read(stream, stream.source.address, Fence())
        else:
            view = self._view(zone)
            if view is not None and view.primary is not None:
                self._read(stream, view.primary.address, view.fence)
        if not stream.writer.registered:
            self._outside.begin(self._await_readers(stream))

    def _read(self, stream: Stream, address: str, fence: Fence) -> None:
        name = record_of(self._place.zone)
        self._outside.ask(address, stream.read(address, name, fence, self.term.epoch, self._outside.now()))

    def _view(self, zone: str) -> ZoneView | None:
        """How another zone is seen from here; None when there are too many, for each is looked for on the ring."""
        view = self._views.get(zone)
        if view is None and len(self._views) < MAX_ZONES:

            def changed(primary: ZonePrimary) -> None:
                for stream in self._streams.by_number.values():
                    if stream.source.zone == zone and stream.address != primary.address and not self.closed:
                        self._read(stream, primary.address, made.fence)

            made = view = self._views[zone] = ZoneView(zone, self._outside.ring, self._outside.begin, changed)
            self._outside.begin(view.keep_looking())
        return view

    def _await_readers(self, stream: Stream) -> Operation[None]:
        """Find out which readers are to get a stream's first sample."""
        while not self.closed and not stream.writer.registered:
            try:
                entries = yield from self._outside.ring.get(stream.topic)
            except RingcastError:
                yield from sleep(RETRY_S)
                continue
            inherited = dict.fromkeys(stream.inherited, True)
            readers = inherited | readers_of(entries, self._place.zone, stream.source.zone)
            best_effort = [name for name, reliable in readers.items() if not reliable]
            stream.writer.settle(readers, self._outside.now(), best_effort, stream.inherited)
            self._outside.touch(stream)

    def on_not_primary(self, stream: Stream) -> None:
        """The broker of another zone that a stream is read from is not its primary."""
        view = self._views.get(stream.source.zone)
        if view is not None:
            view.refused()

    # Time ----------------------------------------------------------------------------------------------------------

    def tick(self, now: float) -> None:
        """Change who is in sync, and end what nobody reads and nobody writes."""
        self.in_sync.tick(self._streams.by_number.values(), now)
        silent: dict[str, float] = {}
        for stream in list(self._streams.by_number.values()):
            for name, pending in list(stream.pending.items()):
                if now - pending.asked_at > PENDING_FOR_S:
                    del stream.pending[name]
            if stream.readers or not stream.writer.settled:
                stream.read_at = now
            if self._is_over(stream, now):
                self._streams.remove(stream, good_bye=True)
            elif stream.source.zone in self._views:
                quiet_s = stream.upstream.quiet_s(now)
                silent[stream.source.zone] = min(quiet_s, silent.get(stream.source.zone, quiet_s))
        for zone, view in list(self._views.items()):
            if zone not in silent:
                view.closed = True
                del self._views[zone]
            elif silent[zone] > SILENT_FOR_S:
                view.hurry()
            else:
                view.calm()

    def stood_still(self, for_s: float, now: float) -> None:
        """Nobody was heard for so long, which is held against no reader and no backup."""
        self.in_sync.stood_still(for_s, now)
        for stream in self._streams.by_number.values():
            stream.writer.stood_still(for_s, now)

    def _is_over(self, stream: Stream, now: float) -> bool:
        if (stream.topic, stream.producer) in self._listed:
            return False
        zone = stream.source.zone
        in_zone = zone == self._place.zone
        quiet_s = stream.upstream.quiet_s(now)
        lapsed = in_zone and min(quiet_s, now - stream.listed_at) > UNLISTED_FOR_S
        if stream.ended_at is not None or lapsed or (not zone and quiet_s > UNHEARD_FOR_S):
            ended_at = stream.ended_at or now
            stream.ended_at = ended_at
            return stream.is_done() or now - ended_at > ENDED_FOR_S
        return not in_zone and now - stream.read_at > UNREAD_FOR_S

    def close(self) -> None:
        """Lead no more."""
        self.closed = True
        for view in self._views.values():
            view.closed = True


def _entry(stream: Stream) -> StreamEntry:
    readers = tuple(stream.reliable_readers(READERS_AT_ONCE))
    return StreamEntry(stream.number, stream.topic, stream.producer, stream.source, readers)
