"""Every stream of one broker, and what their sources say, whether the broker leads or follows."""

from __future__ import annotations

from broker.outside import Outside
from broker.stream import Stream
from pubsub.batch import Batch
from pubsub.messages import Gone, Heartbeat, Incompatible, NoRoom, PublisherRecord, Subscribed, Unsubscribe

Key = tuple[str, int]
Said = Subscribed | Heartbeat | Gone | Incompatible | NoRoom

MAX_STREAMS = 20_000
ASK_AGAIN_S = 0.25


class Streams:
    """The streams by topic and producer, and by number. Sources of `unsaid` ones are to hear how far they are."""

    def __init__(self, outside: Outside) -> None:
        self.by_key: dict[Key, Stream] = {}
        self.by_number: dict[int, Stream] = {}
        self.unsaid: dict[int, Stream] = {}
        self._outside = outside
        self._next = 1
        self._cleared = 0
        self._was_full = False

    def add(self, topic: str, producer: int, source: PublisherRecord) -> Stream | None:
        """A new stream; None when there are too many, which is said once."""
        if len(self.by_key) >= MAX_STREAMS:
            if not self._was_full:
                self._was_full = True
                self._outside.warn(f"topic {topic!r} is not relayed, nor is any other new one: there are {MAX_STREAMS}")
            return None
        stream = Stream(self._next, topic, producer, source, self._outside.now())
        self._next += 1
        self.by_key[topic, producer] = self.by_number[stream.number] = stream
        return stream

    def remove(self, stream: Stream, good_bye: bool) -> None:
        """Keep a stream no more."""
        if good_bye and stream.address:
            self._outside.ask(stream.address, Unsubscribe(stream.number))
        self._outside.forget(stream)
        self.by_key.pop((stream.topic, stream.producer), None)
        self.by_number.pop(stream.number, None)
        self.unsaid.pop(stream.number, None)

    @property
    def primed(self) -> list[Stream]:
        """Those that serve readers. Whoever waits for another one to be primed has not failed to come."""
        return [stream for stream in self.by_number.values() if stream.primed]

    def clear(self) -> None:
        """Keep nothing, and say nothing, now or later: from a good-bye a source would take that nobody reads it."""
        self._cleared = self._next
        self.by_key.clear()
        self.by_number.clear()
        self.unsaid.clear()

    def on_batch(self, address: str, batch: Batch, now: float) -> Stream | None:
        """A batch came over the connection to an address; the stream that it is news for, if any."""
        stream = self.by_key.get((batch.origin.topic, batch.origin.producer))
        if stream is None or stream.address != address:
            return None
        self.unsaid[stream.number] = stream
        if stream.take(batch, now):
            return stream
        if stream.upstream.gap:
            self._outside.ask(address, stream.upstream.subscribe(now))
        return None

    def on_message(self, address: str, message: Said, now: float) -> Stream | None:
        """A source said something; the stream that it is about, if it is one of ours."""
        stream = self.by_number.get(message.stream)
        if stream is None or stream.address != address:
            if message.stream >= self._cleared and not isinstance(message, Gone | NoRoom):
                self._outside.ask(address, Unsubscribe(message.stream))
            return None
        upstream = stream.upstream
        if isinstance(message, Subscribed | Heartbeat) and not upstream.fence.admits(message.zone_epoch):
            return None
        if isinstance(message, Subscribed):
            stream.on_subscribed(message, now)
        elif isinstance(message, Heartbeat):
            again = upstream.on_heartbeat(message.last, now)
            if again is not None:
                self._outside.ask(address, again)
            stream.on_heartbeat()
        elif isinstance(message, Gone):
            stream.ended_at = now
            if now - upstream.asked_at > ASK_AGAIN_S:
                self._outside.ask(address, upstream.subscribe(now))  # it may only have forgotten us
        elif isinstance(message, NoRoom) and upstream.on_no_room():
            self._outside.warn(f"topic {stream.topic!r}: {message.text}; asking again until there is room")
        elif isinstance(message, Incompatible):
            upstream.refused = True
            self._outside.warn(f"topic {stream.topic!r}: its publisher does not offer what its entry says")
        self.unsaid[stream.number] = stream
        return stream

    def acknowledge(self, now: float) -> None:
        """Tell the sources how far their streams are, where that is due."""
        for stream in list(self.unsaid.values()):
            ack = stream.upstream.ack(now)
            if ack is not None:
                if stream.address:
                    self._outside.ask(stream.address, ack)
            elif stream.upstream.is_said:
                del self.unsaid[stream.number]

    def tick(self, now: float) -> None:
        """Ask sources again that fell silent, and have every stream's progress said in a while."""
        for stream in self.by_number.values():
            if stream.address and stream.ended_at is None:
                again = stream.upstream.tick(now)
                if again is not None:
                    self._outside.ask(stream.address, again)
        self.unsaid.update(self.by_number)
