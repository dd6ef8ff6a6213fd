"""The same lookups as a loop that numba compiles. Nothing here needs numba to be run, only to be fast.

A lookup waits for memory at each hop. So many are under way side by side, all of them a step at a time: each step asks
for what it needs of every lookup before it looks at any of it, and the memory answers while others ask.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sim.static.ring import Identifiers, Places
from sim.static.walking import MET

SIDE_BY_SIDE = 128


def walk(
    row: Identifiers,
    firsts: NDArray[np.uint32],
    shift: np.uint64,
    starts: Places,
    befores: Places,
    lasts: Places,
    named: NDArray[np.bool_],
    successors: int,
    dead: NDArray[np.bool_],
    hops: NDArray[np.uint16],
    timeouts: NDArray[np.uint16],
    found: NDArray[np.bool_],
) -> None:
    """As walk in walking.py does, which says what all of these are; `dead` is empty when nobody is.

    The results are written into the last three, which come with zeros; of lookups that are `found` already there is
    nothing to do.
    """
    size = row.size - 1
    side = SIDE_BY_SIDE
    lookup, at, limit = np.empty(side, np.int64), np.empty(side, np.int64), np.empty(side, np.int64)
    here, there = np.empty(side, np.uint64), np.empty(side, np.uint64)
    wanted, seen, place = np.empty(side, np.uint64), np.empty(side, np.uint64), np.empty(side, np.int64)
    met, known = np.empty((side, MET), np.int64), np.zeros(side, np.int64)
    begun = going = 0
    while True:
        while going < side and begun < starts.size:
            start = starts[begun]
            if start == befores[begun]:
                found[begun] = found[begun] or named[begun]
            elif not found[begun]:
                lookup[going], at[going], limit[going] = begun, start, befores[begun]
                here[going], there[going] = row[start], row[befores[begun]]
                known[going] = 0
                going += 1
            begun += 1
        if not going:
            return
        for lane in range(going):  # where the finger of the highest power of two in the way begins
            way = there[lane] - here[lane]
            way |= way >> np.uint64(1)
            way |= way >> np.uint64(2)
            way |= way >> np.uint64(4)
            way |= way >> np.uint64(8)
            way |= way >> np.uint64(16)
            way |= way >> np.uint64(32)
            wanted[lane] = here[lane] + (way - (way >> np.uint64(1)))
            place[lane] = firsts[np.int64(wanted[lane] >> shift)]
        for lane in range(going):
            seen[lane] = row[place[lane]]
        left = 0
        for lane in range(going):
            which, tried, identifier = lookup[lane], place[lane], seen[lane]
            while identifier < wanted[lane]:
                tried += 1
                identifier = row[tried]
            if tried == size:
                tried, identifier = np.int64(0), row[0]
            if successors > 1:
                ahead, reach = tried - at[lane], limit[lane] - at[lane]
                ahead += size if ahead < 0 else 0
                reach += size if reach < 0 else 0
                reach = min(reach, successors)
                if reach > ahead:
                    tried = at[lane] + reach
                    tried -= size if tried >= size else 0
                    identifier = row[tried]
            if dead.size and dead[tried]:
                at_met = 0
                while at_met < known[lane] and met[lane, at_met] != tried:
                    at_met += 1
                if at_met == known[lane]:
                    timeouts[which] += 1
                    if known[lane] < MET:
                        met[lane, known[lane]] = tried
                        known[lane] += 1
                tried = tried - 1 if tried else size - 1
                if tried == at[lane]:
                    found[which] = tried == lasts[which] and named[which]
                    continue
                at[left], here[left], limit[left], there[left] = at[lane], here[lane], tried, row[tried]
            else:
                hops[which] += 1
                before = befores[which]
                if tried == before:
                    found[which] = named[which]
                    continue
                at[left], here[left], limit[left], there[left] = tried, identifier, before, row[before]
            if dead.size and left < lane:
                known[left] = known[lane]
                for at_met in range(known[lane]):
                    met[left, at_met] = met[lane, at_met]
            lookup[left] = which
            left += 1
        going = left
