"""A client of a ring as a process, which asks one node of it. Prints `ready`, then does what dht_report.py says.

    python -m experiments.bench.dht_client iterative|recursive|cached VIA

A get of ours begins outside the ring, so it has one exchange more than those of the peers, whose nodes ask themselves.
"""

from __future__ import annotations

import sys
import time

from chord.client import Mode, RingClient
from chord.errors import RingcastError
from chord.identifiers import IdentifierSpace
from experiments.bench.dht_report import obey
from experiments.rings.load import owner_among

ENTRY = "peer"
LEASE_S = 600.0
HOLDERS = 5
"""Processes that hold each record, so that it outlives four at once; kademlia has 20 of them, OpenDHT 8."""

CACHED = "cached"
"""Iterative, and owners found lately are asked at once, as publishers and subscribers do."""


class Client:
    """Asks through one node. Who holds what is computed from the members that the ring has at the start."""

    def __init__(self, way: str, via: str) -> None:
        mode = Mode.RECURSIVE if way == Mode.RECURSIVE else Mode.ITERATIVE
        self._ring = RingClient([via], mode=mode, cache=way == CACHED)
        self._space = IdentifierSpace()
        members = [view.member for view in self._ring.members()]
        self._identifiers = sorted(member.id for member in members)
        self._asked = next(member.id for member in members if member.address == via)

    def put(self, key: str, value: str) -> None:
        self._ring.put(key, ENTRY, value.encode(), LEASE_S)

    def get_us(self, key: str, value: str) -> float | None:
        started = time.perf_counter()
        try:
            entries = self._ring.get(key)
        except RingcastError:
            return None
        took_us = (time.perf_counter() - started) * 1e6
        return took_us if [entry.value for entry in entries] == [value.encode()] else None

    def held(self, keys: list[str]) -> set[str]:
        return {key for key in keys if self._asked in self._holders(key)}

    def _holders(self, key: str) -> list[int]:
        owner = self._identifiers.index(owner_among(self._identifiers, self._space.key(key)))
        return (self._identifiers * 2)[owner : owner + HOLDERS]


def main(way: str, via: str) -> None:
    """Ask until killed."""
    client = Client(way, via)
    print("ready", flush=True)
    obey(client)


if __name__ == "__main__":
    main(*sys.argv[1:])
