"""What share of the circle, and so of all keys, falls to each process."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sim.static.ring import Ring

PLACES_AT_ONCE = 1 << 20


def shares(ring: Ring, processes: int) -> NDArray[np.float64]:
    """For each of the processes its share over the mean: what its members own, which is all from their predecessor on.

    Without virtual nodes in the order of the ring.
    """
    found = np.zeros(processes)
    row = ring.row[:-1]
    for begin in range(0, ring.size, PLACES_AT_ONCE):
        end = min(begin + PLACES_AT_ONCE, ring.size)
        owned = row[begin:end] - row[np.arange(begin - 1, end - 1)]
        whose = np.arange(begin, end) if ring.processes is None else ring.processes[begin:end]
        np.add.at(found, whose, owned.astype(np.float64))
    if ring.size == 1:
        found[:] = 2.0**64
    return found * (processes / 2.0**64)
