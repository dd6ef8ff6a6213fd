"""The folder of a watch is gone on with as it was begun, by one watch at a time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chord.errors import LocalProtocolError
from experiments.traces.damaged import Damaged
from experiments.watch.place import LeftOut, Settings, held, keep, left_out


def test_windows_of_another_length_need_another_folder(tmp_path: Path) -> None:
    """The error says what was, what is asked for, and what to do."""
    keep(tmp_path, Settings(window_us=10_000_000))
    keep(tmp_path, Settings(window_us=10_000_000))

    with pytest.raises(LocalProtocolError, match=r"holds windows of 10 s, not 2.5 s; --window 10 goes on, or give an"):
        keep(tmp_path, Settings(window_us=2_500_000))


def test_windows_without_their_checkpoint_are_not_gone_on_with(tmp_path: Path) -> None:
    """Batches would be numbered from 0 again, and passed over. Without windows there is nothing to lose."""
    keep(tmp_path, Settings(window_us=1))
    LeftOut(batch=7, late=3).save(tmp_path)
    keep(tmp_path, Settings(window_us=1))
    assert left_out(tmp_path).batch == -1
    (tmp_path / "windows").mkdir()
    (tmp_path / "windows" / "0.parquet").touch()

    with pytest.raises(LocalProtocolError, match="windows without the checkpoint that they belong to"):
        keep(tmp_path, Settings(window_us=1))


@pytest.mark.parametrize("note", ["offsets/3", "commits/3", "sources/0/3", "metadata"])
def test_a_note_of_sparks_that_was_emptied_is_named(tmp_path: Path, note: str) -> None:
    """To start the command again would not help, and the error says what does."""
    keep(tmp_path, Settings(window_us=1))
    for name in ("offsets/3", "commits/3", "sources/0/3", "metadata"):
        path = tmp_path / "checkpoint" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('{"id":"1"}' if name == "metadata" else "v1\n{}")
    keep(tmp_path, Settings(window_us=1))

    (tmp_path / "checkpoint" / note).write_bytes(b"")

    with pytest.raises(Damaged, match=rf"checkpoint/{note} is damaged; remove {tmp_path} to have everything counted"):
        keep(tmp_path, Settings(window_us=1))


def test_one_watch_at_a_time(tmp_path: Path) -> None:
    """A second one is told which process it is, and what to do."""
    with (
        held(tmp_path),
        pytest.raises(LocalProtocolError, match=rf"another watch \(process {os.getpid()}\) is at work in .*; end it"),
        held(tmp_path),
    ):
        pass
    with held(tmp_path):
        pass
