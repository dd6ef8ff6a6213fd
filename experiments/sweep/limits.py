"""From where to where the numbers of a plan go: as far as the programs do that run them."""

from __future__ import annotations

from typing import Final

from chord.limits import MAX_VNODES
from experiments.sweep.values import MOST
from pubsub.limits import MAX_PAYLOAD_BYTES

MOST_NODES = 1 << 26
"""Static ones; other places have fewer."""

MOST_SUCCESSORS = 128
MOST_CLIENTS = 512
MOST_ZONES, MOST_REPLICAS = 16, 9
MOST_LOOKUPS = 10**12
MOST_RINGS = 1 << 18
"""A ring for each 2^22 of the most lookups, and some more."""

MOST_SAMPLES = 10_000_000
LEAST_RATE, MOST_RATE = 0.001, 100_000.0
MOST_REPEATS = 1000
MOST_TOPOLOGY = 64
"""Characters of a topology's name."""

RANGES: Final[dict[str, tuple[int, int]]] = {
    "nodes": (1, MOST_NODES),
    "vnodes": (1, MAX_VNODES),
    "successors": (0, MOST_SUCCESSORS),
    "publishers": (1, MOST_CLIENTS),
    "subscribers": (1, MOST_CLIENTS),
    "payload_bytes": (0, MAX_PAYLOAD_BYTES),
    "lookups": (0, MOST_LOOKUPS),
    "seeds": (0, MOST),
}
"""The least and the greatest of what a block names several of."""
