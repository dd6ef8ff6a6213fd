"""Folders that a command is given: made, or refused when they are something else; written by one process at a time."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from chord.errors import LocalProtocolError

LOCK_FILE = ".lock"
FREE_WITHIN_S = 10.0
"""What a process that was killed had started, Java above all, ends by itself within this time."""

POLL_S = 0.1


def made(path: Path, option: str = "--out") -> Path:
    """The directory, made unless it is there. Raises LocalProtocolError for what cannot be one."""
    for each in (path, *path.parents):
        if each.is_dir():
            break
        if os.path.lexists(each):
            raise LocalProtocolError(f"{each} is not a directory; name another with {option}")
    path.mkdir(parents=True, exist_ok=True)
    return path


def once(paths: Sequence[Path], place_of: Callable[[Path], Path] = Path.resolve) -> None:
    """Raise LocalProtocolError for a folder that is given twice, under whatever name, as `place_of` tells."""
    seen: dict[Path, Path] = {}
    for path in paths:
        other = seen.setdefault(place_of(path), path)
        if other is not path:
            also = "" if str(other) == str(path) else f", also as {other}"
            raise LocalProtocolError(f"{path} is given twice{also}; give it once")


@contextmanager
def alone(folder: Path, what: str, instead: str, file: str = LOCK_FILE) -> Iterator[int]:
    """Hold the lock of a folder that is there; yields its descriptor, for processes that are to hold it as well.

    Raises LocalProtocolError if another process does, which says `what` is at work, and what to do `instead`. One that
    was killed is waited for as long as what it started may take to end.
    """
    lock = os.open(folder / file, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        _take(lock, f"another {what} (process {{}}) is at work in {folder}; {instead}")
        os.ftruncate(lock, 0)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
        yield lock
    finally:
        os.close(lock)


def _take(lock: int, refusal: str) -> None:
    until = time.monotonic() + FREE_WITHIN_S
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(lock, 32, 0).decode(errors="replace").strip()
            if _lives(holder) or time.monotonic() > until:
                raise LocalProtocolError(refusal.format(holder or "unknown")) from None
            time.sleep(POLL_S)
        else:
            return


def _lives(holder: str) -> bool:
    """Whether that process is there and has not ended; false also before it has noted its number."""
    if not holder.isdecimal():
        return False
    try:
        os.kill(int(holder), 0)
        return Path(f"/proc/{holder}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's, or no /proc that would tell
        return True
