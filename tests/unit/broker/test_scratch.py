"""Temporary folders go with their owners; after kill -9, with the next one that is made."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from broker.scratch import MARK, Scratch

OWNER = """
import sys
from broker.scratch import Scratch
scratch = Scratch("spark")
(scratch.path / "file").touch()
print(scratch.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch) -> Path:
    """Where temporary folders are made in this test, here and in processes."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


@contextmanager
def owner() -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A process that has such a folder."""
    command = [sys.executable, "-c", OWNER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process, Path(process.stdout.readline().strip())
        finally:
            process.kill()


def test_a_folder_goes_with_its_owner(temporary):
    """With all that is in it, at the end of the block."""
    with Scratch("spark") as name:
        (Path(name) / "file").touch()
        assert Path(name).parent == temporary and Path(name).name.startswith("ringcast-spark-")

    assert list(temporary.iterdir()) == []


def test_the_folder_of_one_that_was_killed_goes_with_the_next():
    """That of one that lives stays."""
    with owner() as (living, kept), owner() as (killed, orphan):
        killed.kill()
        killed.wait()
        assert orphan.exists()

        with Scratch():
            assert not orphan.exists()
            assert (kept / "file").exists()
        assert living.poll() is None


def test_a_process_that_inherits_the_lock_keeps_the_folder():
    """As the Java of a session does, which may end a little later than it."""
    scratch = Scratch()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=[scratch.lock]) as heir:
        os.close(scratch.lock)

        with Scratch():
            assert scratch.path.exists()

        heir.kill()
        heir.wait()
        with Scratch():
            assert not scratch.path.exists()
    scratch.lock = -1
    scratch.cleanup()


def test_what_is_not_ours_stays(temporary):
    """A folder without our file, whatever its name; one that a link leads to; a file."""
    (temporary / "ringcast-run").mkdir()
    (temporary / "ringcast-run" / ".lock").touch()
    (temporary / "elsewhere").mkdir()
    (temporary / "elsewhere" / MARK).touch()
    (temporary / "ringcast-link").symlink_to(temporary / "elsewhere")
    (temporary / "ringcast-file").touch()

    with Scratch():
        pass

    left = {path.relative_to(temporary) for path in temporary.rglob("*")}
    assert {Path("ringcast-run/.lock"), Path("elsewhere") / MARK, Path("ringcast-link"), Path("ringcast-file")} < left
