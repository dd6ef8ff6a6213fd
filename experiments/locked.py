"""A directory in which one command at a time is at work, as the kernel sees to."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from chord.errors import LocalProtocolError

LOCK_FILE = ".lock"
"""In the directory; it stays there and says who was there last, its process and what it was."""


@contextmanager
def locked(path: Path, what: str) -> Iterator[None]:
    """Have a directory, which is made if there is none, to oneself, until the block or this process ends.

    `what` names this command to others, like "sweep". Raises LocalProtocolError while another one is in there, and
    for a path that is no directory.
    """
    if path.exists() and not path.is_dir():
        raise LocalProtocolError(f"{path} is not a directory; name one with --out")
    path.mkdir(parents=True, exist_ok=True)
    with (path / LOCK_FILE).open("a+b") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            process, _, other = lock.read().decode(errors="replace").strip().partition(" ")
            raise LocalProtocolError(
                f"another {other or what} (process {process or 'unknown'}) is at work in {path}; "
                "wait for it, or name another directory with --out"
            ) from None
        lock.truncate(0)
        lock.write(f"{os.getpid()} {what}".encode())
        lock.flush()
        yield


def is_taken(path: Path) -> bool:
    """Whether a directory has anything in it but a lock; one that is not there has not."""
    return path.is_dir() and any(each.name != LOCK_FILE for each in path.iterdir())
