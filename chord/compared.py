"""Arcs of other processes that their owners have lately compared with what is here, and made the same."""

from __future__ import annotations

from chord.identifiers import between_right

ARCS_AT_MOST = 1024
"""A process is compared with for (replicas - 1) arcs a virtual node: 256 with three replicas and as many of them as
there may be. Anybody may compare."""


class Compared:
    """When an owner last compared its arc (low, high] with what is here, by its identifier, high."""

    def __init__(self) -> None:
        self._arcs: dict[int, tuple[int, float]] = {}

    def note(self, low: int, high: int, now: float) -> None:
        """The owner of (low, high] has compared it; where it found a difference, it mends that by itself."""
        self._arcs.pop(high, None)
        if len(self._arcs) >= ARCS_AT_MOST:
            del self._arcs[next(iter(self._arcs))]
        self._arcs[high] = low, now

    def end_of(self, key: int, since: float) -> int | None:
        """The end of the arc with this key that was compared at `since` or later; None if none was."""
        arcs = self._arcs.items()
        return next((high for high, (low, at) in arcs if at >= since and between_right(low, key, high)), None)
