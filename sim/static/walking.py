"""Lookups in a static ring, many at once: NumPy alone, for whoever lacks numba, and to hold loops.py against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.static.ring import Identifiers, Places, Ring

EXPONENT = np.uint64(0x7FF0_0000_0000_0000)
"""Of a number of 64 bits with floating point: what is left without the rest is a power of two."""

MET = 128
"""So many of the dead that it has met does a lookup know again."""


@dataclass(frozen=True)
class Walks:
    """What became of some lookups, in their order.

    `hops` go from member to member, up to the key's predecessor; a member that owns the key knows it by its own, and
    takes none. `timeouts` were spent on dead members. `found`: whether the predecessor was reached, and its list named
    the owner, or the first after it that lives.
    """

    hops: NDArray[np.uint16]
    timeouts: NDArray[np.uint16]
    found: NDArray[np.bool_]


@dataclass(frozen=True)
class Course:
    """What some lookups have to reach.

    `befores` precede the keys in the ring as it was, `lasts` among those that are alive. `named`: whether the first of
    these after the key is on the list of the last one.
    """

    befores: Places
    lasts: Places
    named: NDArray[np.bool_]


def plan(ring: Ring, owners: Places, successors: int, dead: NDArray[np.bool_] | None) -> Course:
    """The course of lookups of keys whose owners these were."""
    befores = ring.before(owners)
    if dead is None:
        return Course(befores, befores, np.ones(owners.size, np.bool_))
    lasts, living = befores.copy(), owners.copy()
    while (gone := np.flatnonzero(dead[lasts])).size:
        lasts[gone] = ring.before(lasts[gone])
    while (gone := np.flatnonzero(dead[living])).size:
        living[gone] = ring.onward(living[gone], 1)
    reach = ring.ahead(lasts, living)
    return Course(befores, lasts, (reach > 0) & (reach <= max(1, successors)))


def preceding(ring: Ring, places: Places, limits: Places, successors: int) -> Places:
    """For each of some members the farthest of its fingers and its successor list that is not beyond another member.

    Which of chord/fingers.py's `Routes.preceding` comes first, the limit being the member before the key. None of the
    members is its own limit. The farthest finger is that of the highest power of two in the way to the limit.
    """
    here = ring.row[places]
    way = ring.row[limits] - here
    # Of a number whose second bit is clear none is rounded up to the next power of two.
    powers = (way & ~(way >> np.uint64(1))).astype(np.float64)
    exponents = powers.view(np.uint64)
    exponents &= EXPONENT
    found = ring.owners(here + powers.astype(np.uint64))
    if successors <= 1:
        return found  # the successor is a finger
    listed = np.minimum(ring.ahead(places, limits), successors)
    return ring.onward(places, np.maximum(ring.ahead(places, found), listed))


def walk(
    ring: Ring, starts: Places, keys: Identifiers, successors: int = 0, dead: NDArray[np.bool_] | None = None
) -> Walks:
    """Look shifted keys up from these members, with lists of so many successors beside the fingers.

    `dead`: which members have failed since, of which nobody has taken notice; the starts are alive. Hops, time-outs and
    owner are those of the production lookup wherever this one finds the owner: at each member it tries what is known
    there from the closest to the key down, also at the last one, before that names its first living successor; whoever
    was met dead is not tried again. Where no candidate of a member lives this lookup ends, and its owner is not found.
    The production lookup goes on with what members before that one have named: of 600 in rings of 1,000 with half of
    the members dead and lists of 4 it finds 457 owners, this one 428; with lists of 20 both find all.
    """
    count = starts.size
    hops, timeouts = np.zeros(count, np.uint16), np.zeros(count, np.uint16)
    owners = ring.owners(keys)
    course = plan(ring, owners, successors, dead)
    found = starts == owners
    going = np.flatnonzero(~found)
    at = starts[going]
    limits = course.befores[going]
    met = None if dead is None else Met(count)
    while True:
        ended = at == limits
        ending = going[ended]
        found[ending] = (at[ended] == course.lasts[ending]) & course.named[ending]
        if ended.all():
            return Walks(hops, timeouts, found)
        going, at, limits = going[~ended], at[~ended], limits[~ended]
        tried = preceding(ring, at, limits, successors)
        if dead is None or met is None:
            hops[going] += 1
            at = tried
            continue
        silent = dead[tried]
        timeouts[going[silent]] += met.anew(going[silent], tried[silent])
        hops[going[~silent]] += 1
        at = np.where(silent, at, tried)
        limits = np.where(silent, ring.before(tried), course.befores[going])


class Met:
    """Which of the dead some lookups have met, each the first MET of its own."""

    def __init__(self, lookups: int) -> None:
        self._places = np.full((lookups, 8), -1, np.int32)
        self._counts = np.zeros(lookups, np.int64)

    def anew(self, lookups: Places, places: Places) -> NDArray[np.bool_]:
        """Whether each of some lookups meets one that it does not know yet; from then on it does."""
        most = int(self._counts[lookups].max(initial=0))
        new: NDArray[np.bool_] = (self._places[lookups, :most] != places[:, None]).all(axis=1)
        kept = new & (self._counts[lookups] < MET)
        if most == self._places.shape[1] < MET:
            self._places = np.pad(self._places, ((0, 0), (0, most)), constant_values=-1)
        who = lookups[kept]
        self._places[who, self._counts[who]] = places[kept]
        self._counts[who] += 1
        return new
