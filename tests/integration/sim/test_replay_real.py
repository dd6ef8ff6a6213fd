"""The simulator reruns what real nodes recorded."""

from __future__ import annotations

import pytest

from sim.replay import replay
from tests.integration.chord.rings import dht
from tests.recordings import taken_apart


@pytest.mark.parametrize("role", ["first", "vnodes", "leaver", "killed"])
def test_a_real_node_replays_effect_for_effect(recorded, role):
    """From joining to leaving, or up to the kill; every recorded process and this one hash strings otherwise."""
    report = replay(recorded[role])

    _first, events = taken_apart(recorded[role])
    assert report.difference is None, str(report.difference)
    assert report.same_code
    assert report.events == len(events) > 50
    assert report.effects > 50
    assert report.cut_bytes == 0 or role == "killed"


def test_a_recording_has_everything_that_a_node_was_told(recorded):
    """Operations by their names, requests, replies and deadlines."""
    _first, events = taken_apart(recorded["leaver"])

    began = [event.operation for event in events if hasattr(event, "operation")]
    assert began == ["boot", "walk", "leave"]
    assert {type(event).__name__ for event in events} == {"Clock", "Began", "Asked", "Told", "Woken"}


def test_an_existing_file_is_not_recorded_over(tmp_path):
    """The node does not start: exit code 2 and one line."""
    path = tmp_path / "dear"
    path.write_text("dear")

    done = dht("join", "--record", str(path))

    assert (done.code, done.out) == (2, "")
    assert done.err == f"error: {path} exists, and a recording replaces nothing; name another file\n"
    assert path.read_text() == "dear"
