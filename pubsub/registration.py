"""Keeping the entries of publishers and subscribers alive on the ring, and hearing of each other through it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from chord.asking import FINAL, Ring
from chord.effects import Operation, sleep
from chord.errors import RingcastError
from chord.messages import Entry
from pubsub.directory import directory_of, entry_of

LEASE_S = 10.0
REFRESHES = 3
"""How often an entry is put within one lease."""

POLL_S = 2.0
RETRY_S = 0.3
REFUSED_S = 1.0
REFUSED_AT_MOST_S = 30.0
REFUSALS_COUNTED = 10
"""What the ring refused for good is put again after the first, then twice as late each time, up to the second: somebody
may have mended what was in its way."""

WITHDRAW_S = 1.0
"""How long a client that closes waits for the ring to take its entries off. At most half of it goes by until a put
under way has ended; the other half is for the deletion."""

WITHDRAW_STEP_S = 0.01
WITHDRAW_STEPS = round(WITHDRAW_S / 2 / WITHDRAW_STEP_S)

PUBLISHER = "pub/"
SUBSCRIBER = "sub/"


def _nobody(_text: str) -> None:
    """Nobody wants to be told."""


@dataclass
class Registration:
    """One entry that is kept alive for as long as it is not closed."""

    topic: str
    entry: str
    value: bytes
    notify: str = ""
    lease_s: float = LEASE_S
    registered: bool = False
    closed: bool = False
    busy: bool = False
    refusals: int = 0
    error: RingcastError | None = None
    warn: Callable[[str], None] = _nobody

    @property
    def missing(self) -> str:
        """What to tell a person when the ring did not take the entry in time."""
        return f"topic {self.topic!r} is not registered on the ring: {self.error or 'no answer yet'}"

    def taken(self) -> None:
        """The ring took the entry."""
        self.error = None
        self.refusals = 0

    def failed(self, error: RingcastError) -> float:
        """The ring did not take it; returns after how many seconds to try again. What is final is told once."""
        self.error = error
        if not isinstance(error, FINAL):
            return RETRY_S
        if not self.refusals:
            self.warn(f"{self.missing}; trying again, ever more rarely")
        pause_s = min(REFUSED_AT_MOST_S, REFUSED_S * 2.0**self.refusals)
        self.refusals = min(self.refusals + 1, REFUSALS_COUNTED)
        return pause_s


Found = Callable[[list[Entry]], None]


def keep_publisher(ring: Ring, registration: Registration, first: Found) -> Operation[None]:
    """Keep a publisher registered; `first` gets the record as it was right after the first put.

    Put first, read then: a subscriber that registers meanwhile is in the record, or finds the publisher in it.
    """
    while not registration.closed:
        try:
            yield from _put(ring, registration)
            if not registration.registered:
                entries = yield from ring.get(registration.topic)
                registration.registered = True
                first(entries)
            registration.taken()
        except RingcastError as error:
            yield from sleep(registration.failed(error))
        else:
            yield from sleep(registration.lease_s / REFRESHES)


def keep(ring: Ring, registration: Registration, while_open: Registration | None = None) -> Operation[None]:
    """Keep an entry, and do nothing else; until it is closed, or another one that it goes with."""
    while not (while_open or registration).closed:
        try:
            yield from _put(ring, registration)
            registration.registered = True
            registration.taken()
        except RingcastError as error:
            yield from sleep(registration.failed(error))
        else:
            yield from sleep(registration.lease_s / REFRESHES)


def keep_listed(ring: Ring, registration: Registration) -> Operation[None]:
    """Keep the topic of a publisher in the directory, whatever becomes of the publisher's own entry."""
    topic = registration.topic
    directory = directory_of(topic, ring.space)
    listing = Registration(directory, entry_of(topic), b"", lease_s=registration.lease_s, warn=registration.warn)
    yield from keep(ring, listing, registration)


def keep_subscriber(ring: Ring, registration: Registration, found: Found) -> Operation[None]:
    """Keep a subscriber registered; `found` gets the record now and every two seconds, if a change went missing."""
    refresh_s = registration.lease_s / REFRESHES
    since_put_s = refresh_s
    while not registration.closed:
        try:
            if since_put_s >= refresh_s:
                yield from _put(ring, registration)
                since_put_s = 0.0
            entries = yield from ring.get(registration.topic)
            registration.registered = True
            registration.taken()
            if not registration.closed:
                found(entries)
        except RingcastError as error:
            since_put_s = refresh_s
            yield from sleep(registration.failed(error))
        else:
            pause_s = min(POLL_S, refresh_s)
            yield from sleep(pause_s)
            since_put_s += pause_s


def withdraw(ring: Ring, registration: Registration) -> Operation[None]:
    """Take an entry off the ring, after a put of it that is under way, unless that takes too long."""
    registration.closed = True
    for _ in range(WITHDRAW_STEPS):
        if not registration.busy:
            break
        yield from sleep(WITHDRAW_STEP_S)
    yield from ring.delete(registration.topic, registration.entry)


def _put(ring: Ring, registration: Registration) -> Operation[None]:
    registration.busy = True
    try:
        yield from ring.put(
            registration.topic, registration.entry, registration.value, registration.lease_s, notify=registration.notify
        )
    except RingcastError:
        registration.busy = False
        raise
    registration.busy = False
