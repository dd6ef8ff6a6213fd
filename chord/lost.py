"""Peers that a process has lost sight of, which may turn out to be alive in another ring."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from chord.messages import Pointer, contact

LOST_KEPT = 256
LOST_FOR_S = 600.0


class LostPeers:
    """The peers lost lately, the longest lost first, and the `bootstrap` addresses, which are as good to ask."""

    def __init__(self, address: str) -> None:
        self.bootstrap: list[str] = []
        self._address = address
        self._lost: OrderedDict[Pointer, float] = OrderedDict()

    def __iter__(self) -> Iterator[Pointer]:
        """The peers lost, and then the bootstrap contacts."""
        yield from self._lost
        for address in self.bootstrap:
            yield contact(address)

    @property
    def anybody(self) -> bool:
        """Whether any peer was lost lately."""
        return bool(self._lost)

    def add(self, peer: Pointer, now: float) -> None:
        """A peer of another process was lost."""
        if peer.address == self._address:
            return
        self._lost[peer] = now
        self._lost.move_to_end(peer)
        if len(self._lost) > LOST_KEPT:
            self._lost.popitem(last=False)

    def found(self, peer: Pointer) -> None:
        """A peer is in the same ring."""
        self._lost.pop(peer, None)

    def forget_long_lost(self, now: float) -> None:
        """Whoever was not met for so long does not come back."""
        while self._lost:
            peer, when = next(iter(self._lost.items()))
            if now - when < LOST_FOR_S:
                return
            del self._lost[peer]
