"""A ring that stands still: the identifiers of its members in order, and an index over them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Identifiers = NDArray[np.uint64]
Places = NDArray[np.int64]
"""Members by their place in the ring, which begins with the lowest identifier."""

LAST = np.uint64(2**64 - 1)
FIRSTS_AT_ONCE = 1 << 20


class Ring:
    """Members by place: 8 bytes of identifier each, and at most 4 of index, whatever they know of each other.

    `identifiers` are sorted and distinct, of so many `bits`; `processes` tells for each member whose it is, where
    processes have several. Raises ValueError for no members at all.

    Inside, identifiers are shifted up to 64 bits, so that the circle closes where the arithmetic of the machine does.
    `row` holds them with one more behind that nothing exceeds. `firsts[b]` is the first place at or after which
    identifiers begin with the bits b, as many bits as leave about one member each: a search looks at few of them.
    """

    def __init__(self, identifiers: Identifiers, bits: int = 64, processes: NDArray[np.uint32] | None = None) -> None:
        if not identifiers.size:
            raise ValueError("a ring has at least one member")
        self.size = identifiers.size
        self.bits = bits
        self.processes = processes
        self.row = np.empty(self.size + 1, np.uint64)
        np.left_shift(identifiers, np.uint64(64 - bits), out=self.row[:-1])
        self.row[-1] = LAST
        index_bits = max(1, self.size.bit_length() - 1)
        self.shift = np.uint64(64 - index_bits)
        self.firsts = np.empty(1 << index_bits, np.uint32)
        for begin in range(0, self.firsts.size, FIRSTS_AT_ONCE):
            some = np.arange(begin, min(begin + FIRSTS_AT_ONCE, self.firsts.size), dtype=np.uint64) << self.shift
            self.firsts[begin : begin + some.size] = np.searchsorted(self.row[:-1], some)

    @property
    def nbytes(self) -> int:
        """What a member takes, times members."""
        return self.row.nbytes + self.firsts.nbytes + (0 if self.processes is None else self.processes.nbytes)

    def shifted(self, keys: Identifiers) -> Identifiers:
        """Keys of so many bits as the ring has, as `owners` takes them."""
        return keys << np.uint64(64 - self.bits)

    def owners(self, keys: Identifiers) -> Places:
        """For each of some shifted keys the first member at or after it."""
        row = self.row
        found: Places = self.firsts[keys >> self.shift].astype(np.int64)
        short = np.flatnonzero(row[found] < keys)
        while short.size:
            found[short] += 1
            short = short[row[found[short]] < keys[short]]
        found[found == self.size] = 0
        return found

    def before(self, places: Places) -> Places:
        """For each of some members the one before it."""
        found = places - 1
        found[found < 0] = self.size - 1
        return found

    def ahead(self, places: Places, others: Places) -> Places:
        """How many members further on `others` lie, 0 to size - 1."""
        steps = others - places
        steps[steps < 0] += self.size
        return steps

    def onward(self, places: Places, steps: Places | int) -> Places:
        """The members so many, 0 to size, further on."""
        found = places + steps
        found[found >= self.size] -= self.size
        return found
