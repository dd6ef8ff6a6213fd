"""Lookups in static rings some of whose members are dead, against the production code, node for node."""

from __future__ import annotations

import random
from bisect import bisect_left
from functools import cache

import numpy as np
import pytest

from chord.errors import LookupFailed
from chord.lookup import Walk, find_owner
from chord.messages import NextHop
from sim.at_once import Asker, AtOnce
from sim.paper.rings import ideal
from sim.static import engine, loops, walking
from sim.static.making import drawn, hashed
from sim.static.report import Engine

RINGS, LOOKUPS = 6, 60


def looped(ring, starts, keys, successors, dead):
    """The loops that numba compiles, as they are."""
    with np.errstate(over="ignore"):
        return engine.walk_by(loops.walk, ring, starts, keys, successors, dead)


WALKERS = [pytest.param(walking.walk, id="numpy"), pytest.param(looped, id="looped")]
if engine.fastest() is Engine.numba:
    WALKERS.append(pytest.param(engine.walker(Engine.numba), id="numba"))


@cache
def looked_up(nodes, length, failed, seed):
    """Who is dead, what is looked up from where, and what comes of it by production code.

    For each lookup: hops up to the key's predecessor, members found dead on the way there, and the owner, None if it
    was lost.
    """
    rng = random.Random(f"{seed}/{failed}")
    order = sorted(ideal(nodes, length, seed), key=lambda host: host.members[0].me.id)
    dead = [rng.random() < failed for _ in order]
    living = [place for place in range(nodes) if not dead[place]]
    keys = [rng.getrandbits(64) for _ in range(LOOKUPS)]
    starts = [rng.choice(living) for _ in range(LOOKUPS)]
    ring = AtOnce(order[place] for place in living)
    told = []
    for start, key in zip(starts, keys, strict=True):
        walk = Walk(key)
        ring.unanswered.clear()
        try:
            owner = ring.finish(find_owner(Asker(), order[0].settings.space, [order[start].members[0].me], walk)).id
        except LookupFailed:
            owner = None
        told.append((walk.hops, ring.unanswered[NextHop], owner))
    return np.array(dead), np.array(starts), keys, told


@pytest.mark.parametrize("walk", WALKERS)
@pytest.mark.parametrize(
    ("nodes", "length", "failed", "least"),
    [
        (60, 1, 0.3, 0.3),
        (60, 4, 0.3, 0.9),
        (60, 12, 0.5, 1.0),
        (200, 8, 0.2, 1.0),
        (200, 16, 0.4, 1.0),
        (300, 2, 0.1, 0.9),
        (40, 40, 0.6, 1.0),
    ],
)
def test_hops_time_outs_and_owner_are_those_of_production_lookups(walk, nodes, length, failed, least):
    """Of every lookup whose owner is found here: all of them, but where lists are short."""
    found = 0
    for seed in range(RINGS):
        dead, starts, keys, told = looked_up(nodes, length, failed, seed)
        ring = hashed(nodes, cluster=f"ring-{seed}")
        alive = (ring.row[:-1])[~dead].tolist()

        walks = walk(ring, starts, ring.shifted(np.array(keys, np.uint64)), length, dead)

        for at, (key, of_production) in enumerate(zip(keys, told, strict=True)):
            owner = alive[bisect_left(alive, key) % len(alive)]
            if walks.found[at]:
                assert (walks.hops[at], walks.timeouts[at], owner) == of_production
                found += 1
    assert found >= least * RINGS * LOOKUPS


@pytest.mark.parametrize("walk", WALKERS)
def test_what_one_lookup_has_met_is_nothing_to_another(walk):
    """Half of 1,000 dead, lists of 20: the same lookups in another order, and side by side with others."""
    ring = drawn(1_000, 1, np.random.default_rng(3))
    rng = np.random.default_rng(4)
    dead = rng.random(ring.size) < 0.5
    starts = rng.choice(np.flatnonzero(~dead), 500)
    keys = rng.integers(0, 2**64 - 1, 500, np.uint64)
    together = walk(ring, starts, keys, 20, dead)

    backwards = walk(ring, starts[::-1], keys[::-1], 20, dead)

    assert together.timeouts.tolist() == backwards.timeouts.tolist()[::-1]
    assert together.hops.tolist() == backwards.hops.tolist()[::-1]


@pytest.mark.parametrize("walk", WALKERS[1:])
def test_more_dead_than_a_lookup_remembers_are_counted_alike(walk):
    """Whichever engine walks: 97 of 100 are dead, and a member knows 128 and more."""
    ring = drawn(6_000, 1, np.random.default_rng(3))
    rng = np.random.default_rng(4)
    dead = rng.random(ring.size) < 0.97
    starts = rng.choice(np.flatnonzero(~dead), 300)
    keys = rng.integers(0, 2**64 - 1, 300, np.uint64)
    plain = walking.walk(ring, starts, keys, 128, dead)

    walks = walk(ring, starts, keys, 128, dead)

    assert plain.timeouts.max() > walking.MET
    for name in ("hops", "timeouts", "found"):
        assert (getattr(walks, name) == getattr(plain, name)).all(), name
