"""Folders for temporary files that do not outlast their owner: kill -9 leaves one until the next is made."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "ringcast-"
MARK = ".ringcast-temporary"
"""A file in each of them, locked while its owner lives. Nothing that lacks it is ever removed."""


class Scratch(tempfile.TemporaryDirectory[str]):
    """A new folder, /tmp/ringcast-KIND-... or /tmp/ringcast-..., once those are removed whose owners are gone.

    `lock` is a descriptor: processes that inherit it are owners as well.
    """

    def __init__(self, kind: str = "") -> None:
        remove_orphans()
        super().__init__(prefix=f"{PREFIX}{kind}-" if kind else PREFIX, ignore_cleanup_errors=True)
        self.path = Path(self.name)
        self.lock = os.open(self.path / f"{MARK}.new", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        (self.path / f"{MARK}.new").rename(self.path / MARK)  # so that nobody ever sees it free

    def cleanup(self) -> None:
        """Remove it. Twice is harmless."""
        super().cleanup()
        with suppress(OSError):
            os.close(self.lock)
        self.lock = -1


def remove_orphans() -> None:
    """Remove the folders of this user whose owners are gone."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{MARK}"):
        with suppress(OSError), _orphaned(path) as orphaned:
            if orphaned:
                shutil.rmtree(path.parent, ignore_errors=True)


@contextmanager
def _orphaned(mark: Path) -> Iterator[bool]:
    """Whether the owner of a folder is gone; nobody else takes it for one meanwhile."""
    folder = mark.parent.lstat()
    descriptor = os.open(mark, os.O_RDWR | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # BlockingIOError while its owner lives
        yield folder.st_uid == os.getuid() and not mark.parent.is_symlink()
    finally:
        os.close(descriptor)
