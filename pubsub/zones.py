"""Zones on the ring: which there are and which one a client joins, who is primary of each, and whom a writer awaits.

Three kinds of records. `zones` has an entry `zone/<Z>` for every zone, with its load. `zone/<Z>` has an entry
`primary`, whose versions count with the epoch, so that a deposed primary cannot put its own back. `zone/<Z>/clients`
has an entry `pub/<id>/<topic>` for every topic of every publisher in the zone, `sub/<id>` for every subscriber, and
`broker/<id>` for every broker, which is told of each change of it.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable
from typing import NamedTuple

import msgspec

from chord.asking import Ring
from chord.effects import Operation, sleep
from chord.errors import LocalProtocolError, RingcastError
from chord.messages import Address, Count, Entry
from chord.wire import BAD_INPUT
from pubsub.limits import MAX_ZONE_NAME
from pubsub.messages import PublisherRecord, publisher_record, subscriber_record
from pubsub.registration import PUBLISHER, SUBSCRIBER

ZONES = "zones"
PRIMARY = "primary"
PREFIX = "zone/"
"""Of a zone's entry among the zones, of the name of its record, and of the name that it reads under."""

UNSERVED_S = 3.0
"""A zone that is named has this long until its client says that nobody serves it."""

ALLOWED = frozenset(string.ascii_letters + string.digits + "._-")


class NoZone(RingcastError):
    """No zone has a primary."""


class ZonePrimary(msgspec.Struct, array_like=True, frozen=True):
    """The value of the entry `primary`: where the zone is served, since which epoch, and by whom."""

    address: Address
    epoch: Count
    broker: str


class ZoneLoad(msgspec.Struct, array_like=True, frozen=True):
    """The value of a zone's entry in `zones`. `brokers` are those alive, `in_sync` those that have what it has."""

    clients: Count
    primary: ZonePrimary
    brokers: Count
    in_sync: Count
    topics: Count


_primary = msgspec.msgpack.Decoder(ZonePrimary).decode
_load = msgspec.msgpack.Decoder(ZoneLoad).decode


def check_zone(zone: str) -> str:
    """A zone's name, if it can be one. Raises LocalProtocolError."""
    if not 1 <= len(zone) <= MAX_ZONE_NAME or not ALLOWED.issuperset(zone) or not zone.strip("."):
        raise LocalProtocolError(
            f"zone {zone!r} is no name for a zone: 1 to {MAX_ZONE_NAME} letters, digits, dots, dashes or underscores"
        )
    return zone


def check_choice(brokered: bool, zone: str | None) -> None:
    """Raises LocalProtocolError for a zone that cannot be one. One that is named means brokers, `brokered` or not."""
    if zone is not None:
        check_zone(zone)
    elif not isinstance(brokered, bool):
        raise LocalProtocolError(f"brokered is {brokered!r}; it is True or False, and a zone goes into `zone`")


def record_of(zone: str) -> str:
    """The name of a zone's record, and the name under which it reads."""
    return PREFIX + zone


def clients_of(zone: str) -> str:
    """The name of the record of a zone's clients."""
    return f"{PREFIX}{zone}/clients"


def zone_of(reader: str) -> str:
    """The zone that reads under a name; empty for any other reader."""
    return reader.removeprefix(PREFIX) if reader.startswith(PREFIX) else ""


def find_primary(ring: Ring, zone: str) -> Operation[ZonePrimary | None]:
    """Who serves a zone, if anybody does."""
    entries = yield from ring.get(record_of(zone))
    return next((_read(entry) for entry in entries if entry.entry == PRIMARY), None)


def _read(entry: Entry) -> ZonePrimary | None:
    try:
        return _primary(entry.value)
    except BAD_INPUT:
        return None


def list_zones(ring: Ring) -> Operation[dict[str, ZoneLoad]]:
    """Every zone that has had a primary within one lease, by name."""
    entries = yield from ring.get(ZONES)
    found: dict[str, ZoneLoad] = {}
    for entry in sorted(entries, key=lambda entry: entry.entry):
        zone = zone_of(entry.entry)
        try:
            found[check_zone(zone)] = _load(entry.value)
        except (*BAD_INPUT, LocalProtocolError):
            continue
    return found


def least_loaded(ring: Ring) -> Operation[str]:
    """The zone with the fewest clients. Raises NoZone when there is none."""
    zones = yield from list_zones(ring)
    if not zones:
        raise NoZone("no zone has a broker; start one with `ringcast broker --zone NAME`, or do without --brokered")
    return min(zones, key=lambda zone: (zones[zone].clients, zone))


def readers_of(entries: Iterable[Entry], at: str, publisher_zone: str) -> dict[str, bool]:
    """Who of a topic's subscribers is to connect to a writer, and whether it is to lose nothing.

    `at` is the zone of the writer, empty for the publisher itself, and `publisher_zone` that of the publisher. A zone
    reads for its subscribers; a publisher in a zone is read by that zone, which the others read from.
    """
    expected: dict[str, bool] = {}
    if publisher_zone and not at:
        expected[record_of(publisher_zone)] = True
    for entry in entries:
        record = subscriber_record(entry.value) if entry.entry.startswith(SUBSCRIBER) else None
        if record is None:
            continue
        if record.zone == at:
            name = entry.entry.removeprefix(SUBSCRIBER)
        elif record.zone and at == publisher_zone:
            name = record_of(record.zone)
        else:
            continue
        expected[name] = expected.get(name, False) or record.requested.reliability == "at_least_once"
    return expected


def tell_if_unserved(ring: Ring, zone: str, warn: Callable[[str], None]) -> Operation[None]:
    """Say so whenever nobody serves a zone, be it for a slip of the pen, and when somebody does again. Never ends."""
    told = False
    while True:
        yield from sleep(UNSERVED_S)
        try:
            primary = yield from find_primary(ring, zone)
        except RingcastError:
            continue  # whoever else asks the ring says so
        if primary is None and not told:
            warn(
                f"zone {zone!r} has no primary on the ring, and nothing passes; `ringcast zones` lists those that have"
            )
        elif primary is not None and told:
            warn(f"zone {zone!r} has a primary again, at {primary.address}")
        told = primary is None


class Client(NamedTuple):
    """A topic of a publisher in a zone."""

    topic: str
    producer: int
    record: PublisherRecord


def client_entry(publisher: str, topic: str) -> str:
    """The id of the entry of a publisher's topic in the record of its zone's clients."""
    return f"{PUBLISHER}{publisher}/{topic}"


def publisher_of(entry: Entry) -> Client | None:
    """The topic of a publisher that an entry in the record of a zone's clients is of, if it is of one."""
    identity, slash, topic = entry.entry.removeprefix(PUBLISHER).partition("/")
    producer = producer_of(identity)
    record = publisher_record(entry.value)
    if not entry.entry.startswith(PUBLISHER) or not slash or producer is None or record is None:
        return None
    return Client(topic, producer, record)


def producer_of(digits: str) -> int | None:
    """The number that the sixteen digits of a publisher's id are of; None for what is no id."""
    if len(digits) != 16 or not digits.isascii() or not digits.isalnum():
        return None
    try:
        return int(digits, 16)
    except ValueError:
        return None


def client_of(entry: Entry) -> str:
    """The client that an entry in the record of a zone's clients is of; empty if it is of none."""
    kind, _, rest = entry.entry.partition("/")
    return rest.partition("/")[0] if f"{kind}/" in (PUBLISHER, SUBSCRIBER) else ""
