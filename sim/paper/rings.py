"""Rings that stand still, and lookups of random keys in them by the production code."""

from __future__ import annotations

import random
from bisect import bisect_left
from collections import Counter

from chord.host import Host
from chord.lookup import Walk, find_predecessor
from chord.settings import Settings
from sim.at_once import Asker, AtOnce
from sim.cluster import Cluster
from sim.ideal import start_ideal
from sim.paper.traced import Traced

BITS = 64
SIZE = 1 << BITS


def ideal(nodes: int, successors: int, seed: int) -> list[Host]:
    """The processes of an ideal ring, one member each, with lists of so many entries and every finger right.

    Which ring it is depends on the seed: it is part of what the identifiers are hashes of.
    """
    settings = Settings(cluster=f"ring-{seed}", successors=successors, failures=0, replicas=1)
    cluster = Cluster(seed, settings)
    return [node.host for node in start_ideal(cluster, nodes, upkeep=False)]


def path_lengths(hosts: list[Host], lookups: int, rng: random.Random, traced: Traced | None = None) -> Counter[int]:
    """How many lookups took how many hops: from a random member to the predecessor of a random key."""
    ring = AtOnce(hosts)
    traced = traced or Traced()
    space = hosts[0].settings.space
    counts: Counter[int] = Counter()
    for _ in range(lookups):
        walk = Walk(rng.getrandbits(space.bits))
        host = rng.choice(hosts)
        ring.finish(find_predecessor(Asker(), space, [host.members[0].me], walk))
        walk.owner = walk.owners[0]  # everybody lives
        traced.walked(host, walk)
        counts[walk.hops] += 1
    return counts


class TableRule:
    """How table II counts, by nothing but sorted identifiers: of fingers and list the last before the key, or lower.

    Whoever owns the key knows it from its predecessor, and takes no hop. Who was found dead is not tried again.
    """

    def __init__(self, identifiers: list[int], successors: int) -> None:
        ring = sorted(identifiers)
        self._steps: dict[int, list[int]] = {}
        self._gap: dict[int, int] = {}
        for at, identifier in enumerate(ring):
            known = {ring[bisect_left(ring, (identifier + 2**bit) % SIZE) % len(ring)] for bit in range(BITS)}
            known |= {ring[(at + step) % len(ring)] for step in range(1, successors + 1)}
            steps = ((each - identifier) % SIZE for each in known - {identifier})
            self._steps[identifier] = sorted(steps, reverse=True)
            self._gap[identifier] = (identifier - ring[at - 1]) % SIZE

    def walk(self, first: int, key: int, alive: set[int]) -> tuple[int, int]:
        """Living members after the first, and time-outs."""
        at, hops, dead = first, 0, set[int]()
        if (first - key) % SIZE < self._gap[first]:
            return 0, 0
        while True:
            left = (key - at) % SIZE
            for step in self._steps[at]:
                candidate = (at + step) % SIZE
                if step >= left:
                    continue
                if candidate in alive:
                    break
                dead.add(candidate)
            else:
                return hops, len(dead)
            at, hops = candidate, hops + 1
