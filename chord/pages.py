"""Entries that come page by page from another process: where the next page begins, and what is no page."""

from __future__ import annotations

from collections.abc import Callable

from chord.errors import RemoteProtocolError
from chord.messages import Page
from chord.names import is_normal

Place = tuple[str, str]
"""Name and entry id, which pages are in the order of; those of an arc have the ring order of the keys before it."""


def next_place(page: Page, after: Place, source: str, steps: Callable[[str], int] = lambda _name: 0) -> Place | None:
    """From where to ask on for the page behind this one, None if it is the last. `source` is who sent it.

    `steps`: how far into the arc the key of a name lies.
    Raises RemoteProtocolError for a page that does not advance from `after`, is not in order, holds a name that nothing
    can be stored under, or is empty and promises more.
    """
    last = after
    last_steps = steps(after[0]) if after[0] else 0
    for entry in page.entries:
        if not is_normal(entry.name):
            raise RemoteProtocolError(f"the page of {source} holds the name {entry.name!r}, which nobody can store")
        place = entry.name, entry.entry
        place_steps = steps(entry.name)
        if (place_steps, place) <= (last_steps, last):
            raise RemoteProtocolError(f"the page of {source} goes on from {last} with {place}, which is not after it")
        last, last_steps = place, place_steps
    if not page.more:
        return None
    if last == after:
        raise RemoteProtocolError(f"the page of {source} promises more after {after} and is empty")
    return last
