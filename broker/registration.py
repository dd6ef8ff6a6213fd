"""A broker on the ring: the primary's entries, the backups', and hearing of the clients of the zone."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from broker.outside import Outside
from broker.place import Place
from broker.zone_state import Term
from chord.effects import Operation, sleep
from chord.errors import RingcastError, StaleVersion, TooLarge
from chord.limits import MAX_VERSION_STEP
from chord.messages import Entry
from pubsub import messages
from pubsub.registration import LEASE_S, POLL_S, REFRESHES, RETRY_S
from pubsub.zones import PRIMARY, ZONES, Client, ZoneLoad, ZonePrimary, client_of, clients_of, publisher_of, record_of

BROKER = "broker/"
LOAD_LEASE_S = 5.0
"""Of a zone's entry among the zones, put every two seconds: clients are not to choose one that has died."""

VERSIONS = 2**24
"""Of a zone's entries within one epoch: one every two seconds, for a year."""


class OnTheRing:
    """Keeps one broker's entries, and reads the clients of its zone.

    `primary_put(epoch)` is called once the ring names the broker as primary, `publishers(list)` with the publishers of
    the zone every two seconds, and at once when the ring tells of a change.
    """

    def __init__(
        self,
        place: Place,
        notify: str,
        outside: Outside,
        primary_put: Callable[[int], None],
        publishers: Callable[[list[Client]], None],
    ) -> None:
        self.load = 0
        self.topics = 0
        self._place = place
        self._notify = notify
        self._outside = outside
        self._primary_put = primary_put
        self._publishers = publishers
        self._term: Term | None = None
        self._closed = False
        self._complaining = False
        self._entries: dict[str, Entry] = {}

    def lead(self, term: Term) -> None:
        """This broker is primary: say so, for as long as it is."""
        led = self._term
        self._term = term
        if led is None or led.epoch != term.epoch:
            self._outside.begin(self._keep_primary(term.epoch))

    def follow(self) -> None:
        """This broker is not primary."""
        self._term = None

    def start(self) -> None:
        """Hear of the zone's clients from now on."""
        self._outside.begin(self._watch())

    def on_changed(self, entry: Entry) -> None:
        """The ring says that an entry changed."""
        if entry.name != clients_of(self._place.zone) or self._closed:
            return
        if entry.deleted:
            self._entries.pop(entry.entry, None)
        else:
            self._entries[entry.entry] = entry
        self._tell()

    def read_out(self) -> None:
        """Tell again of the publishers that are known, for a broker that has come to lead."""
        self._tell()

    def _tell(self) -> None:
        entries = self._entries.values()
        self.load = len({client for entry in entries if (client := client_of(entry))})
        found = [publisher for entry in entries if (publisher := publisher_of(entry)) is not None]
        self.topics = len({client.topic for client in found})
        self._publishers(found)

    def _watch(self) -> Operation[None]:
        """Stay registered with the zone's clients, so as to be told of changes, and look at them all the same."""
        record = clients_of(self._place.zone)
        name = BROKER + self._place.broker
        refresh_s = LEASE_S / REFRESHES
        since_put_s = refresh_s
        while not self._closed:
            try:
                if since_put_s >= refresh_s:
                    yield from self._outside.ring.put(record, name, b"", LEASE_S, notify=self._notify)
                    since_put_s = 0.0
                entries = yield from self._outside.ring.get(record)
            except RingcastError as error:
                since_put_s = refresh_s
                self._complain(f"the ring does not answer, so no new client finds this broker: {error}")
                yield from sleep(RETRY_S)
                continue
            self._complain("")
            self._entries = {entry.entry: entry for entry in entries}
            self._tell()
            yield from sleep(POLL_S)
            since_put_s += POLL_S

    def _complain(self, complaint: str) -> None:
        """Warn once of what is wrong, and once when it is right again (empty)."""
        if bool(complaint) != self._complaining:
            self._complaining = bool(complaint)
            self._outside.warn(f"zone {self._place.zone}: {complaint or 'the ring answers again'}")

    def _keep_primary(self, epoch: int) -> Operation[None]:
        """Have the ring name this broker, with versions that no lower epoch has."""
        version = epoch * VERSIONS
        told = False
        while not self._closed and self._term is not None and self._term.epoch == epoch:
            term = self._term
            primary = ZonePrimary(self._place.address, epoch, self._place.broker)
            version += 1
            try:
                yield from self._put(record_of(self._place.zone), PRIMARY, messages.encode(primary), LEASE_S, version)
                if not told:
                    told = True
                    self._primary_put(epoch)
                load = ZoneLoad(self.load, primary, len(term.live), len(term.in_sync), self.topics)
                yield from self._put(ZONES, record_of(self._place.zone), messages.encode(load), LOAD_LEASE_S, version)
            except RingcastError:
                yield from sleep(RETRY_S)
            else:
                yield from sleep(POLL_S)

    def _put(self, record: str, entry: str, value: bytes, lease_s: float, version: int) -> Operation[None]:
        """Put an entry; a version that is too far from what the ring holds, maybe nothing, is climbed to."""
        ring = self._outside.ring
        try:
            yield from ring.put(record, entry, value, lease_s, version)
        except TooLarge:
            for step in range(MAX_VERSION_STEP, version, MAX_VERSION_STEP):
                with suppress(StaleVersion):
                    yield from ring.put(record, entry, value, lease_s, step)
            yield from ring.put(record, entry, value, lease_s, version)

    def withdraw(self) -> list[Operation[None]]:
        """Be told of nothing more. The entry `primary` stays: the next one's is newer, and takes its place."""
        self._closed = True
        return [self._take_off()]

    def _take_off(self) -> Operation[None]:
        yield from self._outside.ring.delete(clients_of(self._place.zone), BROKER + self._place.broker)
