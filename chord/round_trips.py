"""Time-outs from measured round trips: per peer, mean plus four deviations, between a floor and a ceiling.

Jacobson 1988, as Rhea et al. 2004 use it for overlays; a fixed one is either slow under failures or wrong under load.
"""

from __future__ import annotations

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
class _Peer:
    mean_s: float = 0.0
    deviation_s: float = 0.0
    measured: bool = False
    timeouts: int = 0
    last_timeout_at: float = 0.0


class RoundTrips:
    """What is known of the round trips to each peer, by its address."""

    def __init__(self) -> None:
        self._peers: dict[str, _Peer] = {}

    def observe(self, address: str, rtt_s: float) -> None:
        """A reply arrived `rtt_s` after its request."""
        peer = self._peer(address)
        peer.timeouts = 0
        if not peer.measured:
            peer.measured = True
            peer.mean_s = rtt_s
            peer.deviation_s = rtt_s / 2
            return
        error = rtt_s - peer.mean_s
        peer.mean_s += error / 8
        peer.deviation_s += (abs(error) - peer.deviation_s) / 4

    def timed_out(self, address: str, now: float) -> None:
        """No reply arrived in time."""
        peer = self._peer(address)
        peer.timeouts += 1
        peer.last_timeout_at = now

    def timeout_s(self, address: str, attempt: int = 0) -> float:
        """How long to wait for a reply; each further attempt waits twice as long, up to the ceiling."""
        peer = self._peers.get(address)
        if peer is None or not peer.measured:
            base = INITIAL_S
        else:
            base = max(FLOOR_S, peer.mean_s + 4 * peer.deviation_s)
        return min(CEILING_S, base * (1 << attempt))

    def suspected(self, address: str, now: float) -> bool:
        """Whether the peer has timed out twice or more in a row, and not so long ago that it is worth another try."""
        peer = self._peers.get(address)
        return peer is not None and peer.timeouts >= SUSPECT_AFTER and now - peer.last_timeout_at < SUSPECT_FOR_S

    def _peer(self, address: str) -> _Peer:
        peer = self._peers.get(address)
        if peer is None:
            if len(self._peers) >= MAX_PEERS:
                del self._peers[next(iter(self._peers))]
            peer = self._peers[address] = _Peer()
        return peer
