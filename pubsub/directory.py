"""The directory of topics: a ring cannot be listed, so each topic is also named in one of 256 directory records.

The top byte of a topic's key says in which: `topics/00` to `topics/ff`. Each has an entry `topic/<name>` for every
topic that has a publisher, leased like the publisher's own.
"""

from __future__ import annotations

from chord.asking import Ring
from chord.effects import Operation, gather
from chord.errors import RingcastError
from chord.identifiers import IdentifierSpace
from chord.names import normalise

PREFIX = "topic/"
SIDE_BY_SIDE = 16
"""Directory records that are read at a time."""


def directory_of(topic: str, space: IdentifierSpace) -> str:
    """The name of the record that lists a topic. Raises InvalidName."""
    return f"topics/{space.key(topic) * 256 // space.size:02x}"


def directories() -> list[str]:
    """The names of every directory record."""
    return [f"topics/{number:02x}" for number in range(256)]


def entry_of(topic: str) -> str:
    """The id of a topic's entry in its directory record. Raises InvalidName."""
    return PREFIX + normalise(topic)


def list_topics(ring: Ring) -> Operation[list[str]]:
    """Every topic that has had a publisher within one lease, sorted. Raises LookupFailed when a part cannot be read."""
    topics: set[str] = set()
    names = directories()
    for start in range(0, len(names), SIDE_BY_SIDE):
        pages = yield from gather([ring.get(name) for name in names[start : start + SIDE_BY_SIDE]])
        for page in pages:
            if isinstance(page, RingcastError):
                raise page
            topics.update(entry.entry.removeprefix(PREFIX) for entry in page if entry.entry.startswith(PREFIX))
    return sorted(topics)
