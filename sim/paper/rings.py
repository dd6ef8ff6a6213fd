"""Rings that stand still, and lookups of random keys in them by the production code."""

from __future__ import annotations

import random
from collections import Counter

from chord.host import Host
from chord.lookup import Walk, find_predecessor
from chord.settings import Settings
from sim.at_once import Asker, AtOnce
from sim.cluster import Cluster
from sim.ideal import start_ideal


def ideal(nodes: int, successors: int, seed: int) -> list[Host]:
    """The processes of an ideal ring, one member each, with lists of so many entries and every finger right.

    Which ring it is depends on the seed: it is part of what the identifiers are hashes of.
    """
    settings = Settings(cluster=f"ring-{seed}", successors=successors, failures=0, replicas=1)
    cluster = Cluster(seed, settings)
    return [node.host for node in start_ideal(cluster, nodes, upkeep=False)]


def path_lengths(hosts: list[Host], lookups: int, rng: random.Random) -> Counter[int]:
    """How many lookups took how many hops: from a random member to the predecessor of a random key."""
    ring = AtOnce(hosts)
    space = hosts[0].settings.space
    counts: Counter[int] = Counter()
    for _ in range(lookups):
        walk = Walk(rng.getrandbits(space.bits))
        ring.finish(find_predecessor(Asker(), space, [rng.choice(hosts).members[0].me], walk))
        counts[walk.hops] += 1
    return counts
