"""What is told when the directory of a sweep cannot be written, above all because its disk is full."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from chord.errors import RingcastError

FULL = errno.ENOSPC, errno.EDQUOT


class CannotWrite(RingcastError):
    """The sweep ends, since no other cell would fare better. The text says where, why, and how it goes on."""


def is_full(error: BaseException) -> bool:
    """Whether an error says that there is no room left."""
    return isinstance(error, OSError) and error.errno in FULL


def cannot_write(error: OSError, path: Path) -> CannotWrite:
    """What to raise instead of an error at a path, where the error names none."""
    what_next = (
        "the same command goes on once there is room"
        if is_full(error)
        else "the same command goes on once it can be, or name another directory with --out"
    )
    return CannotWrite(f"{error.filename or path} cannot be written ({error.strerror or error}); {what_next}")


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raises CannotWrite for every OSError inside."""
    try:
        yield
    except OSError as error:
        raise cannot_write(error, path) from None
