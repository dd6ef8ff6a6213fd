"""The ring nodes that a process outside the ring knows of: those it was pointed at, and members that answered.

Every member passed on the way becomes a contact, so a client outlives the nodes it was pointed at.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from chord.errors import LocalProtocolError
from chord.messages import Pointer, contact

CONTACTS_KEPT = 64


class Contacts:
    """Iterate over them: whom to ask first, and the others to fall back on. Raises LocalProtocolError without any."""

    def __init__(self, given: list[str]) -> None:
        if not given:
            raise LocalProtocolError("no ring node is known; name one with --via HOST:PORT or RINGCAST_VIA")
        self._given = list(given)
        self._learned: OrderedDict[str, None] = OrderedDict()
        self._first = 0

    def __iter__(self) -> Iterator[Pointer]:
        addresses = list(dict.fromkeys((*self._given, *self._learned)))
        first = self._first
        return (contact(addresses[(first + step) % len(addresses)]) for step in range(len(addresses)))

    def another_first(self) -> None:
        """From now on the next one comes first: it may be the one before that is dead."""
        self._first += 1

    def learn(self, address: str) -> None:
        """A member at this address has answered."""
        self._learned[address] = None
        self._learned.move_to_end(address)
        if len(self._learned) > CONTACTS_KEPT:
            self._learned.popitem(last=False)
