"""Rings to be looked up in: of the identifiers that members of such addresses have, or of random ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chord.identifiers import IdentifierSpace
from sim.cluster import address_of
from sim.static.ring import Identifiers, Ring


def hashed(nodes: int, vnodes: int = 1, cluster: str = "ringcast", space: IdentifierSpace | None = None) -> Ring:
    """The ring of so many simulated processes of a cluster: the one that sim/ideal.py makes of the same processes.

    Each identifier is a hash of its own, which takes a second for a million of them.
    """
    space = space or IdentifierSpace()
    identifiers = np.fromiter(
        (space.member(cluster, address_of(node), index) for node in range(nodes) for index in range(vnodes)),
        np.uint64,
        nodes * vnodes,
    )
    return _sorted(identifiers, vnodes, space.bits)


def drawn(nodes: int, vnodes: int, rng: np.random.Generator, bits: int = 64) -> Ring:
    """A ring of random identifiers, for sizes at which hashing takes too long."""
    identifiers = rng.integers(0, 2**bits - 1, nodes * vnodes, np.uint64, endpoint=True)
    return _sorted(identifiers, vnodes, bits)


def _sorted(identifiers: Identifiers, vnodes: int, bits: int) -> Ring:
    """Of members with one identifier only the first is there: the others could not join."""
    processes: NDArray[np.uint32] | None = None
    if vnodes == 1:
        identifiers.sort()
    else:
        order = np.argsort(identifiers, kind="stable")
        identifiers = identifiers[order]
        order //= vnodes
        processes = order.astype(np.uint32)
    again = np.flatnonzero(identifiers[1:] == identifiers[:-1]) + 1
    if again.size:
        identifiers = np.delete(identifiers, again)
        processes = None if processes is None else np.delete(processes, again)
    return Ring(identifiers, bits, processes)
