"""Rings in the simulator, as tests of many kinds begin with."""

from __future__ import annotations

from chord.member import Member
from sim.cluster import Cluster


def ring_of(count: int, seed: int = 1, **keywords: object) -> Cluster:
    """An ideal ring of nodes that joined at once."""
    cluster = Cluster(seed, **keywords)  # type: ignore[arg-type]  # keywords by name
    cluster.start_many(count)
    assert cluster.converge(60.0) is not None, f"seed {seed}: {cluster.faults()[:5]}"
    return cluster


def in_order(cluster: Cluster) -> list[Member]:
    """The members in ring order."""
    return sorted(cluster.members(), key=lambda member: member.me.id)
