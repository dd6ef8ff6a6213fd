"""One command at a time works in a directory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chord.errors import LocalProtocolError
from experiments.locked import is_taken, locked


def test_a_second_is_told_who_is_there(tmp_path: Path) -> None:
    """By its process and by what it is, which may be another command."""
    told = rf"^another sweep \(process {os.getpid()}\) is at work in {tmp_path / 'run'}; wait for it, or name another"
    with (
        locked(tmp_path / "run", "sweep"),
        pytest.raises(LocalProtocolError, match=told),
        locked(tmp_path / "run", "analysis"),
    ):
        pass


def test_the_next_one_may_begin_once_the_first_has_ended(tmp_path: Path) -> None:
    """Also after an error; the lock that is left is nothing that a new run would mind."""
    with pytest.raises(ZeroDivisionError), locked(tmp_path / "run", "sweep"):
        raise ZeroDivisionError
    assert not is_taken(tmp_path / "run")

    with locked(tmp_path / "run", "sweep"):
        (tmp_path / "run" / "result").touch()

    assert is_taken(tmp_path / "run")


def test_what_is_no_directory_is_refused(tmp_path: Path) -> None:
    """One that is not there yet is free."""
    (tmp_path / "file").touch()

    with pytest.raises(LocalProtocolError, match="file is not a directory"), locked(tmp_path / "file", "sweep"):
        pass

    assert not is_taken(tmp_path / "nothing")
