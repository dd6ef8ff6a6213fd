"""One topic of one publisher, there or at a broker: its log, its readers, and what each of them is to be sent next.

Pure: the driver feeds in messages, batches and the time, and sends what `due` hands out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from pubsub.given_up import GIVEN_UP_KEPT, GivenUp
from pubsub.limits import BEST_EFFORT_BYTES, BUFFER_BYTES, MAX_READERS, PENDING_BYTES
from pubsub.log import Log, Logged
from pubsub.messages import Ack, Subscribe
from pubsub.profile import Profile
from pubsub.reader import Reader
from pubsub.zones import zone_of

EXPECTED_FOR_S = 5.0
"""How long the samples are kept for a subscriber that was registered before the publisher and has not connected. It
looks every two seconds (pubsub/registration.py), should the ring's word of the publisher go missing."""

SILENT_FOR_S = 30.0
"""A reader that has not been heard for this long is given up. It says something every second, so it is stopped, swapped
out or cut off; half a minute outlasts most of what passes, and costs no more than the buffer that it may fill."""

BLOCKING_FOR_S = 10.0
"""The same for a silent reader whose buffer is full: the publisher and every other reader wait for it."""

DETACHED_FOR_S = 3.0
"""A reader whose connection broke is given up unless it comes back within this time. After the publisher itself stood
still it has `EXPECTED_FOR_S`, since the ring may have forgotten the publisher, and has to tell of it again."""

ZONE_AWAY_FOR_S = 30.0
"""How long a zone that was expected, or whose connection broke, is waited for: it may have to elect a primary first."""


class Writer:
    """One topic as its readers are served.

    Until `settle` names the subscribers that were there before the publisher, everything is kept: any of them is to get
    the first sample. `own` is the name of the zone that reads for this publisher, which is waited for however long.
    """

    def __init__(self, offered: Profile, own: str = "") -> None:
        self.offered = offered
        self.own = own
        self.log = Log()
        self.readers: dict[str, Reader] = {}
        self.given_up: dict[str, GivenUp] = {}
        """Who was given up without what it was to get, for when it comes back."""
        self.unsaid: dict[str, GivenUp] = {}
        """Those of them that `flush` has not raised yet; it takes them out."""
        self.zone_epoch = 0
        """Of the zone that writes, if one does."""
        self._epochs: dict[str, int] = {}
        self._expected: dict[str, float] | None = None
        self._best_effort: frozenset[str] = frozenset()
        self._inherited: frozenset[str] = frozenset()
        self._settled_at = 0.0
        self._not_awaited: set[str] = set()
        self._found_again_by = 0.0

    # Readers -------------------------------------------------------------------------------------------------------

    def settle(
        self,
        registered: Collection[str],
        now: float,
        best_effort: Collection[str] = (),
        inherited: Collection[str] = (),
    ) -> None:
        """These subscribers were registered when the publisher was; some of them put up with losses.

        The `inherited` were readers of the primary before this one: they are waited for as for one that fell silent.
        """
        if self._expected is None:
            self._best_effort = frozenset(best_effort)
            self._inherited = frozenset(inherited)
            self._settled_at = now
            awaited = (name for name in registered if name not in self.readers and name not in self._not_awaited)
            self._expected = {name: now + self._expected_for_s(name) for name in awaited}
            self._not_awaited.clear()

    def _expected_for_s(self, name: str) -> float:
        if name == self.own:
            return float("inf")
        if zone_of(name):
            return ZONE_AWAY_FOR_S
        return SILENT_FOR_S if name in self._inherited else EXPECTED_FOR_S

    @property
    def settled(self) -> bool:
        """Whether every subscriber that was there before the publisher has connected, or has had its time."""
        return self._expected is not None and not self._expected

    @property
    def registered(self) -> bool:
        """Whether `settle` was called."""
        return self._expected is not None

    def subscribe(self, route: bytes, message: Subscribe, now: float) -> tuple[Reader, int]:
        """Take a matching reader in, or start it over; returns it, and the sequence after which its samples begin.

        What lies between that and `began`, after which they were to begin, it has missed.
        """
        expected = self._expected is None or self._expected.pop(message.reader, None) is not None
        if message.earlier is not None:
            expected = message.earlier
        known = reader = self.readers.get(message.reader)
        if reader is None or reader.route != route or reader.stream != message.stream:
            reader = Reader(message.reader, route, message.stream, message.requested, now)
            self.readers[message.reader] = reader
            reader.readers = known.readers if known is not None else reader.readers
        reader.epoch = message.reader_epoch
        reader.heard_at = now
        reader.detached_at = None
        oldest = self.log.first_sequence - 1
        newest = self.log.next_sequence - 1
        note = self.given_up.pop(message.reader, None)
        if message.after is not None:
            reader.began = min(message.after, newest)
        elif known is not None:
            reader.began = known.began  # the first answer was lost
        elif note is not None:
            reader.began = note.received
        elif expected:
            reader.began = oldest
        else:
            reader.began = max(oldest, newest - min(self.offered.history, message.requested.history))
        after = max(oldest, self.log.after(reader.began))
        if after == reader.began:
            self.unsaid.pop(message.reader, None)  # it was given up for nothing
        safe = after
        if zone_of(message.reader):
            # What the brokers of a zone have in common is not known from what its primary, a new one maybe, has.
            safe = oldest if known is None else min(after, known.received)
        reader.rewind(self.log, after, safe)
        return reader, after

    def epoch_of(self, message: Subscribe) -> int:
        """The highest epoch that is known of the zone that reads under a name, with that of this message."""
        if not zone_of(message.reader):
            return 0
        known = self._epochs.get(message.reader, 0)
        if message.reader_epoch > known:
            if len(self._epochs) >= MAX_READERS:
                del self._epochs[next(iter(self._epochs))]
            self._epochs[message.reader] = message.reader_epoch
        return known

    def refuse(self, name: str) -> None:
        """A subscriber does not match, so it is not awaited."""
        if self._expected is None:
            self._not_awaited.add(name)
        else:
            self._expected.pop(name, None)

    def remove(self, name: str) -> None:
        """A reader left, so it is not awaited either, should the ring still name it."""
        self.readers.pop(name, None)
        if name == self.own and self._expected is not None:
            self._expected[name] = float("inf")
        else:
            self.refuse(name)

    def acknowledge(self, reader: Reader, message: Ack, now: float) -> None:
        """A reader said how far it is."""
        reader.heard_at = now
        if zone_of(reader.name):
            reader.readers = message.readers
        safe = message.received if message.safe is None else min(message.safe, message.received)
        reader.acknowledge(message.received, message.taken, safe)

    def stood_still(self, for_s: float, now: float) -> None:
        """The publisher heard nobody for so long, which was its own doing: that time counts for no reader's silence."""
        self._found_again_by = now + EXPECTED_FOR_S
        for reader in self.readers.values():
            reader.heard_at = min(now, reader.heard_at + for_s)
        expected = self._expected or {}
        for name in expected:
            expected[name] += for_s

    def forget_silent(self, now: float) -> tuple[list[Reader], list[GivenUp]]:
        """Give up the readers that fell silent, and the subscribers that did not come.

        Returns the former, and a note of each of both that lacks samples that it was to get.
        """
        notes = [
            GivenUp(name, 0, f"was registered before the publisher and did not connect within {within_s:g} s")
            for name, within_s in self._overdue(now)
            if name not in self._best_effort
        ]
        silent = []
        for reader in list(self.readers.values()):
            why = self._why_given_up(reader, now)
            if why:
                silent.append(self.readers.pop(reader.name))
                if reader.reliable and reader.received < self.log.next_sequence - 1:
                    notes.append(GivenUp(reader.name, reader.received, why))
        for note in notes:
            _keep(self.given_up, note)
        lacking = [note for note in notes if note.received < self.log.next_sequence - 1]
        for note in lacking:
            _keep(self.unsaid, note)
        return silent, lacking

    def _overdue(self, now: float) -> list[tuple[str, float]]:
        """Stop waiting for whoever did not connect in time; returns their names, and how long that was."""
        expected = self._expected or {}
        is_full = self.log.weight - self.log.start_weight >= BUFFER_BYTES
        blocking = self._inherited if is_full and now >= self._settled_at + BLOCKING_FOR_S else frozenset()
        overdue = [name for name, until in expected.items() if until <= now or name in blocking]
        for name in overdue:
            del expected[name]
        return [
            (name, BLOCKING_FOR_S if name in blocking and not zone_of(name) else self._expected_for_s(name))
            for name in overdue
        ]

    def _why_given_up(self, reader: Reader, now: float) -> str:
        """What a reader did not do in time; empty for one that is there."""
        if reader.name == self.own:
            return ""
        if reader.detached_at is not None:
            patience_s = ZONE_AWAY_FOR_S if zone_of(reader.name) else DETACHED_FOR_S
            back_by = max(reader.detached_at + patience_s, self._found_again_by)
            if now > back_by:
                within_s = round(back_by - reader.detached_at, 1)
                return f"did not come back within {within_s:g} s after its connection broke"
        silent_for_s = BLOCKING_FOR_S if self._is_full(reader) else SILENT_FOR_S
        return f"said nothing for {silent_for_s:g} s" if now - reader.heard_at > silent_for_s else ""

    # Samples -------------------------------------------------------------------------------------------------------

    @property
    def wants_more(self) -> bool:
        """Whether a batch would go out at once, or to nobody: else the next batch may as well fill."""
        return not self.readers or any(reader.has_room for reader in self.readers.values())

    @property
    def is_level(self) -> bool:
        """Whether the next batch can go out to every reader at once, behind nothing."""
        end = self.log.end
        return all(reader.number == end and reader.has_room for reader in self.readers.values())

    def append(self, frame: bytes | bytearray, count: int, weight: int) -> Logged:
        """Add a batch of the next `count` samples to the log."""
        return self.log.append(frame, count, weight)

    def mend(self) -> None:
        """An interrupt broke off the sending of a batch: have each reader sent again what it has not received."""
        self.log.mend()
        for reader in self.readers.values():
            reader.rewind(self.log, reader.received, reader.received)

    def due(self, reader: Reader) -> Iterator[Logged]:
        """What a reader is to be sent now; call its `sent` for each batch that went out before asking for the next."""
        if reader.number < self.log.base:
            reader.number = self.log.base
        while reader.has_room and reader.number < self.log.end:
            yield self.log[reader.number]

    def trim(self) -> None:
        """Drop what neither the history nor a reader needs."""
        if not self.settled:
            return
        keep_from = self.log.next_sequence - self.offered.history
        for reader in self.readers.values():
            if reader.reliable:
                keep_from = min(keep_from, reader.received + 1)
            elif reader.number < self.log.end:
                unsent = self.log[max(reader.number, self.log.base)].first
                kept = self.log.first_above(self.log.weight - BEST_EFFORT_BYTES)
                keep_from = min(keep_from, max(unsent, kept))
        self.log.trim(keep_from)

    def _is_full(self, reader: Reader) -> bool:
        """Whether it is this reader that publishing has to wait for, or soon will."""
        return reader.reliable and reader.received_weight + BUFFER_BYTES < self.log.weight + PENDING_BYTES

    def limit(self) -> int:
        """The weight up to which samples may be published."""
        in_log = self.log.weight + PENDING_BYTES
        if not self.settled:
            return min(in_log, self.log.start_weight + BUFFER_BYTES)
        reliable = [reader.received_weight for reader in self.readers.values() if reader.reliable]
        return min(in_log, min(reliable) + BUFFER_BYTES) if reliable else in_log

    @property
    def delivered(self) -> int:
        """The sequence up to which every at-least-once reader has everything; 0 while one is still awaited."""
        if not self.settled:
            return 0
        newest = self.log.next_sequence - 1
        return min((reader.received for reader in self.readers.values() if reader.reliable), default=newest)

    def behind(self, sequence: int) -> list[str]:
        """The at-least-once readers that lack some sample up to `sequence`, and what each has."""
        return [
            f"{reader.name} has {reader.received}"
            for reader in self.readers.values()
            if reader.reliable and reader.received < sequence
        ] + [f"{name} has not connected" for name in self._expected or ()]


def _keep(notes: dict[str, GivenUp], note: GivenUp) -> None:
    """Add a note; the oldest goes when there are too many."""
    notes[note.reader] = note
    if len(notes) > GIVEN_UP_KEPT:
        del notes[next(iter(notes))]
