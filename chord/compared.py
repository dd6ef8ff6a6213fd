"""Arcs of other processes that were compared with what is here, and found the same."""

from __future__ import annotations

from chord.identifiers import between_right

ARCS_AT_MOST = 256
"""Far more than the processes that a process keeps copies for; anybody may compare."""


class Compared:
    """When an arc (low, high] was last found to be the same here and at its owner, by the owner's identifier, high."""

    def __init__(self) -> None:
        self._arcs: dict[int, tuple[int, float]] = {}

    def same(self, low: int, high: int, now: float) -> None:
        """The owner of (low, high] holds the same there as this process."""
        self._arcs.pop(high, None)
        if len(self._arcs) >= ARCS_AT_MOST:
            del self._arcs[next(iter(self._arcs))]
        self._arcs[high] = low, now

    def up_to(self, key: int, since: float) -> int | None:
        """The end of an arc with this key that was the same at `since` or later."""
        arcs = self._arcs.items()
        return next((high for high, (low, at) in arcs if at >= since and between_right(low, key, high)), None)
