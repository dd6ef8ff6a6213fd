"""A member that loses its whole successor list closes the gap, though nobody assumes that such a thing happens."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from chord.settings import Settings
from chord.trace import EventTrace
from sim import checks
from sim.cluster import Cluster

CLOSED_WITHIN_S = 20.0


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.integers(4, 8), st.integers(16, 24))
def test_a_ring_closes_a_gap_as_long_as_a_list(seed, gap, count):
    """All successors that a member knows die at once, or more: it finds the next living one through its fingers.

    Nobody joins anew. If the member did, its predecessor, whose list holds the same dead, would be left without one.
    """
    cluster = Cluster(seed, Settings(successors=4))
    cluster.start_many(count)
    assert cluster.converge(60.0) is not None
    cluster.scheduler.run_for(10.0)  # the fingers fill
    in_order = sorted(cluster.members(), key=lambda member: member.me.id)
    rows = len(cluster.rows)

    for member in in_order[3 : 3 + gap]:
        cluster.crash(member.me.address)

    assert cluster.converge(CLOSED_WITHIN_S) is not None, f"seed {seed}: {cluster.faults()[:3]}"
    assert checks.one_ordered_ring(cluster.members()) == []
    kinds = {row.kind for row in cluster.rows[rows:] if isinstance(row, EventTrace)}
    assert "rejoining" not in kinds
