"""A zone as its clients see it: who its primary is, by what the ring says, and the highest epoch heard of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chord.asking import Ring
from chord.effects import Operation, sleep
from chord.errors import RingcastError
from pubsub.registration import POLL_S
from pubsub.zones import ZonePrimary, find_primary

HURRY_S = 0.03
HURRY_AT_MOST_S = 0.25
"""Pauses between looks for a primary that is new, from the first to the longest."""

SURE_LOOKS = 40
"""Looks, some ten seconds of them, for another primary than one that says that it is none."""


class Fence:
    """The highest epoch that was heard of one zone; what comes with a lower one is from a primary that was deposed."""

    __slots__ = ("epoch",)

    def __init__(self) -> None:
        self.epoch = 0

    def admits(self, epoch: int) -> bool:
        """Whether what comes with an epoch may be taken."""
        if epoch > self.epoch:
            self.epoch = epoch
        return epoch == self.epoch


class ZoneView:
    """Looks every two seconds who serves a zone, and more often once that one fell silent or said that it does not.

    `start` begins an operation, and `changed` is called with every primary that is new.
    """

    def __init__(
        self, zone: str, ring: Ring, start: Callable[[Operation[Any]], Any], changed: Callable[[ZonePrimary], None]
    ) -> None:
        self.zone = zone
        self.fence = Fence()
        self.primary: ZonePrimary | None = None
        self.closed = False
        self._ring = ring
        self._start = start
        self._changed = changed
        self._hurried = False
        self._sure_looks = 0

    def keep_looking(self) -> Operation[None]:
        """Look, as long as it is not closed."""
        while not self.closed:
            yield from self._look()
            if self.primary is None:
                self.hurry()
            yield from sleep(POLL_S)

    def hurry(self) -> None:
        """The primary that is known does not serve: look for another one until there is one, or it is heard again."""
        if not self._hurried and not self.closed:
            self._hurried = True
            self._start(self._look_hurriedly())

    def refused(self) -> None:
        """The primary that is known says that it is none: that it was heard a moment ago is no reason to be calm."""
        self._sure_looks = SURE_LOOKS
        self.hurry()

    def calm(self) -> None:
        """The primary that is known was heard."""
        if not self._sure_looks:
            self._hurried = False

    def _look_hurriedly(self) -> Operation[None]:
        known = self.primary
        pause_s = HURRY_S
        while self._hurried and not self.closed:
            yield from self._look()
            self._sure_looks = max(0, self._sure_looks - 1)
            if self.primary != known and self.primary is not None:
                break
            yield from sleep(pause_s)
            pause_s = min(1.3 * pause_s, HURRY_AT_MOST_S)
        self._hurried = False
        self._sure_looks = 0

    def _look(self) -> Operation[None]:
        try:
            found = yield from find_primary(self._ring, self.zone)
        except RingcastError:
            return
        if found is not None and found != self.primary and self.fence.admits(found.epoch) and not self.closed:
            self.primary = found
            self._changed(found)
