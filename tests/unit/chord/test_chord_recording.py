"""A recording is never in the way of the node that it is of."""

from __future__ import annotations

from pathlib import Path

import pytest

from chord import recording as module
from chord.errors import LocalProtocolError
from chord.process import NodeOptions, NodeProcess
from chord.recorded import Woken
from chord.recording import Recording, described
from chord.settings import Settings
from tests.recordings import taken_apart

FIRST = described(Settings(), "n1:1", 1, 7)


def test_a_node_that_is_not_recorded_pays_nothing():
    """Its driver talks to the kernel itself."""
    node = NodeProcess(NodeOptions())

    assert node._driver._kernel is node.host.kernel

    node._driver.close()
    node._context.destroy(linger=0)


def test_a_recording_replaces_no_file(tmp_path):
    """A file that exists is refused and stays as it is; so is one that cannot be made."""
    path = tmp_path / "node.rec"
    path.write_text("dear")

    with pytest.raises(LocalProtocolError, match="exists, and a recording replaces nothing; name another file"):
        NodeProcess(NodeOptions(record=path))
    with pytest.raises(LocalProtocolError, match="cannot be recorded to: No such file or directory"):
        Recording(tmp_path / "missing" / "node.rec", FIRST)

    assert path.read_text() == "dear"


def test_events_reach_the_file_in_time(tmp_path, monkeypatch):
    """What happened is in the file when half a second has passed, or when there is much of it."""
    recording = Recording(tmp_path / "node.rec", FIRST)

    recording.append(Woken(now=100.0))
    recording.append(Woken(now=100.1))
    early = len(taken_apart(tmp_path / "node.rec")[1])
    recording.append(Woken(now=100.6))
    late = len(taken_apart(tmp_path / "node.rec")[1])
    recording.append(Woken(now=100.7))
    recording.close()
    recording.close()

    assert (early, late) == (1, 3)
    assert taken_apart(tmp_path / "node.rec") == (FIRST, [Woken(now=now) for now in (100.0, 100.1, 100.6, 100.7)])
    monkeypatch.setattr(module, "BUFFERED_BYTES", 1)
    at_once = Recording(tmp_path / "other.rec", FIRST)
    for _ in range(2):
        at_once.append(Woken(now=0.1))
    assert len(taken_apart(tmp_path / "other.rec")[1]) == 2
    at_once.close()


def test_a_disk_that_is_full_ends_the_recording(tmp_path, capfd):
    """One line says what is over and what is not; what happens after that is not recorded."""
    recording = Recording(tmp_path / "node.rec", FIRST)
    recording._file.close()
    recording._file = Path("/dev/full").open("wb", buffering=0)  # noqa: SIM115 (closed by what is under test)

    for second in range(3):
        recording.append(Woken(now=float(second)))
    recording.close()

    said = f"warning: the recording {tmp_path / 'node.rec'} ends here: No space left on device; the node goes on\n"
    assert capfd.readouterr().err == said


def test_a_recording_that_has_grown_large_ends(tmp_path, capfd):
    """What it holds by then can be replayed."""
    recording = Recording(tmp_path / "node.rec", FIRST, largest_bytes=300)

    for second in range(100):
        recording.append(Woken(now=float(second)))

    assert capfd.readouterr().err == (
        f"warning: the recording {tmp_path / 'node.rec'} ends here: it has 300 bytes; the node goes on\n"
    )
    first, events = taken_apart(tmp_path / "node.rec")
    assert first == FIRST
    assert events == [Woken(now=float(second)) for second in range(len(events))]
    assert 0 < len(events) < 30
    assert (tmp_path / "node.rec").stat().st_size <= 300
