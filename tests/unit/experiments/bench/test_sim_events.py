"""What `bench sim-events` measures: that calls are answered, and that the large ring stays ideal."""

from __future__ import annotations

import pytest

from experiments.bench import sim_events


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Rings of a size for tests."""
    monkeypatch.setattr(sim_events, "MEMBERS", (5,))
    monkeypatch.setattr(sim_events, "WALL_S", 0.02)
    monkeypatch.setattr(sim_events, "STEP_S", 5.0)
    monkeypatch.setattr(sim_events, "LARGE", 30)


def test_it_tells_calls_beside_a_heap_and_virtual_beside_real_time():
    """Two frames happen for each call and little else, and the ring has no fault in the end."""
    calls, ring = sim_events.bench(2, lambda _text: None)

    assert (calls.name, calls.unit, calls.runs) == ("sim-events", "1/s", 2)
    assert 2.0 <= calls.notes["events_per_call"] < 2.3
    assert ring.notes["faults_in_the_end"] == 0
    assert 6.0 < ring.notes["frames_per_node_and_virtual_s"] < 20.0
    assert ring.reference == 1.0
