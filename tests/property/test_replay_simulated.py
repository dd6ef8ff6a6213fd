"""What reaches a kernel decides what leaves it: whatever happens to a process, its recording replays."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from chord.settings import Settings
from sim.cluster import Cluster, address_of
from sim.network import Link, uniform
from sim.replay import replay
from tests.recordings import start_recorded

ROUGH = Link(uniform(0.001, 0.060), loss=0.02, duplication=0.02)


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6), others=st.integers(0, 5), vnodes=st.integers(1, 3), leaves=st.booleans())
def test_a_simulated_process_replays_effect_for_effect(seed, others, vnodes, leaves):
    """Through joins, lost and repeated frames, crashes, puts and a leave or its own crash."""
    cluster = Cluster(seed, Settings(stabilize_s=0.1, repair_s=0.5), link=ROUGH)
    cluster.start_many(others)
    me = address_of(200)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "node.rec")
        recording = start_recorded(cluster, me, [address_of(0)] if others else [], path, vnodes)
        cluster.scheduler.run_for(3.0)
        cluster.start(address_of(201), [me])
        client = cluster.client()
        asked = [client.process.start(client.ring([me]).put(f"name {n}", "e", b"v", 60.0)) for n in range(10)]
        cluster.scheduler.run_for(2.0)
        if others > 1:
            cluster.crash(address_of(1))
        cluster.scheduler.run_for(2.0)
        if leaves and me in cluster.nodes:
            cluster.leave(me)
        recording.close()

        report = replay(path)

    assert report.difference is None, f"seed {seed}: {report.difference}"
    assert report.same_code
    assert report.cut_bytes == 0
    assert report.events > 50
    assert report.effects > 50
    assert any(outcome.done for outcome in asked)
