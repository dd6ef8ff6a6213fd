"""Time-outs from measured round trips: per peer, mean plus four deviations, between a floor and a ceiling.

Jacobson 1988, as Rhea et al. 2004 use it for overlays; a fixed one is either slow under failures or wrong under load.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

FLOOR_S = 0.25
"""Below this a busy machine, not the network, decides how late a reply is."""

INITIAL_S = 0.5
CEILING_S = 2.0
SUSPECT_AFTER = 2
"""Time-outs in a row after which a peer is suspected."""

SUSPECT_FOR_S = 2.0
MAX_PEERS = 4_096


@dataclass(slots=True)
class Peer:
    """What is known of one peer's round trips."""

    mean_s: float = 0.0
    deviation_s: float = 0.0
    base_s: float = INITIAL_S
    timeouts: int = 0
    last_timeout_at: float = 0.0

    def observe(self, rtt_s: float) -> None:
        """A reply arrived `rtt_s` after its request."""
        self.timeouts = 0
        mean_s = self.mean_s
        if mean_s == 0.0:
            self.mean_s = mean_s = rtt_s
            self.deviation_s = deviation_s = rtt_s / 2
        else:
            error = rtt_s - mean_s
            self.mean_s = mean_s = mean_s + error / 8
            deviation_s = self.deviation_s
            self.deviation_s = deviation_s = deviation_s + (abs(error) - deviation_s) / 4
        base_s = mean_s + 4 * deviation_s
        self.base_s = base_s if base_s > FLOOR_S else FLOOR_S

    def timed_out(self, now: float) -> None:
        """No reply arrived in time."""
        self.timeouts += 1
        self.last_timeout_at = now

    def broke(self, now: float) -> None:
        """The connection to it broke: as good as timed out twice, for those who only pass over whom they suspect."""
        self.timeouts = max(self.timeouts, SUSPECT_AFTER)
        self.last_timeout_at = now

    def timeout_s(self, attempt: int = 0) -> float:
        """How long to wait for a reply; each further attempt waits twice as long, up to the ceiling."""
        timeout_s = self.base_s * (1 << attempt)
        return timeout_s if timeout_s < CEILING_S else CEILING_S

    def suspected(self, now: float) -> bool:
        """Whether the peer has timed out twice or more in a row, and not so long ago that it is worth another try."""
        return self.timeouts >= SUSPECT_AFTER and now - self.last_timeout_at < SUSPECT_FOR_S


class Peers(dict[str, Peer]):
    """Peers by address: a new one where nothing is known yet, and the longest known are forgotten first."""

    def __missing__(self, address: str) -> Peer:
        if len(self) >= MAX_PEERS:
            del self[next(iter(self))]
        peer = self[address] = Peer()
        return peer


class RoundTrips:
    """What is known of the round trips to each peer, by its address."""

    def __init__(self) -> None:
        self.lookups = Peer()
        """Recursive lookups, which end elsewhere than they were sent to: as long as one takes, whoever answers."""
        self._peers = Peers()
        self.peer: Callable[[str], Peer] = self._peers.__getitem__
        """The peer at an address, new if nothing is known of it."""

    def suspected(self, address: str, now: float) -> bool:
        """Whether the peer at an address is suspected of being dead."""
        peer = self._peers.get(address)
        return peer is not None and peer.suspected(now)
