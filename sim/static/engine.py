"""Lookups by the fastest way that is installed: compiled by numba, or NumPy alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from chord.errors import LocalProtocolError
from sim.static import loops, walking
from sim.static.report import Engine, fastest
from sim.static.ring import Identifiers, Places, Ring
from sim.static.walking import Walks

Walk = Callable[[Ring, Places, Identifiers, int, "NDArray[np.bool_] | None"], Walks]
"""As walk in walking.py: the ring, starts, shifted keys, successors, and who is dead."""

NOBODY = np.empty(0, np.bool_)


def walker(engine: Engine) -> Walk:
    """What walks. Raises LocalProtocolError when numba is missing."""
    if engine is Engine.numpy:
        return walking.walk
    if fastest() is Engine.numpy:
        raise LocalProtocolError("numba is not installed: `pip install 'ringcast[numba]'`, or take --engine numpy")
    return partial(walk_by, _compiled())


@cache
def _compiled() -> Callable[..., None]:
    import numba

    compiled: Callable[..., None] = numba.njit(cache=True)(loops.walk)
    return compiled


def walk_by(
    loop: Callable[..., None],
    ring: Ring,
    starts: Places,
    keys: Identifiers,
    successors: int = 0,
    dead: NDArray[np.bool_] | None = None,
) -> Walks:
    """Walk by the loop of loops.py, compiled or not."""
    owners = ring.owners(keys)
    course = walking.plan(ring, owners, successors, dead)
    walks = Walks(np.zeros(starts.size, np.uint16), np.zeros(starts.size, np.uint16), starts == owners)
    loop(
        ring.row,
        ring.firsts,
        ring.shift,
        starts,
        course.befores,
        course.lasts,
        course.named,
        successors,
        NOBODY if dead is None else dead,
        walks.hops,
        walks.timeouts,
        walks.found,
    )
    return walks
