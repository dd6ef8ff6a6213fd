"""Stretch: what a lookup takes over what a question straight to the owner takes.

On a simulated underlay both are reckoned from the latencies that `python -m sim` gives frames; a lookup ends when the
owner has answered. The asker is a member, as in sim/paper/stretch.py: iteratively it asks each member on the path and
then the owner, a round trip each; recursively each passes the question on, and the owner answers the asker.
"""

from __future__ import annotations

import random
from itertools import pairwise

import msgspec

from experiments.overlay.routing import Router
from experiments.overlay.snapshot import BadSnapshot, Snapshot
from experiments.overlay.underlay import Delays
from experiments.ranks import quantile

DRAWS = 100
"""For each lookup that counts so many are tried at most."""


class Stretch(msgspec.Struct, kw_only=True):
    """Of `lookups` of one `way`: percentiles of each lookup's stretch, and latencies in ms, their medians."""

    way: str
    lookups: int
    p10: float
    p50: float
    p90: float
    mean: float
    latency_ms: float
    direct_ms: float
    mean_of_means: float
    """Mean latency over mean direct latency."""


def summed_up(way: str, pairs: list[tuple[float, float]]) -> Stretch:
    """Of the seconds that each lookup took, and a question straight to its owner."""
    ratios = sorted(taken / direct for taken, direct in pairs)
    taken, direct = (sorted(column) for column in zip(*pairs, strict=True))
    return Stretch(
        way=way,
        lookups=len(pairs),
        p10=quantile(ratios, 0.1),
        p50=quantile(ratios, 0.5),
        p90=quantile(ratios, 0.9),
        mean=sum(ratios) / len(ratios),
        latency_ms=1e3 * quantile(taken, 0.5),
        direct_ms=1e3 * quantile(direct, 0.5),
        mean_of_means=sum(taken) / sum(direct),
    )


def on_underlay(snapshot: Snapshot, delays: Delays, lookups: int, seed: int) -> list[Stretch]:
    """Iterative and recursive lookups of random keys from random members, but of keys that the asker's process owns.

    Raises BadSnapshot for a ring of one process, and for one in which hardly a lookup ends at another process.
    """
    if len(snapshot.addresses) < 2:
        raise BadSnapshot("a ring of one process has no stretch: it owns every key itself")
    router = Router(snapshot)
    rng = random.Random(f"{seed}/overlay-stretch")
    iterative: list[tuple[float, float]] = []
    recursive: list[tuple[float, float]] = []
    for _ in range(DRAWS * lookups):
        start, key = rng.randrange(len(router.ids)), rng.randrange(router.size)
        path = router.path(start, key)
        owner = router.named_owner(path[-1], key)
        way = [snapshot.members[at].address for at in (*path, owner)]
        asker = way[0]
        if asker == way[-1]:
            continue
        direct = delays.round_trip_s(asker, way[-1])
        iterative.append((sum(delays.round_trip_s(asker, each) for each in way), direct))
        there = sum(delays.one_way_s(source, target) for source, target in pairwise(way))
        recursive.append((there + delays.one_way_s(way[-1], asker), direct))
        if len(iterative) == lookups:
            return [summed_up("iterative", iterative), summed_up("recursive", recursive)]
    raise BadSnapshot(
        f"of {DRAWS * lookups:,} lookups {len(iterative):,} ended at another process than the asker's, not "
        f"{lookups:,}: members name themselves as owners; take the snapshot again once the ring has settled"
    )
