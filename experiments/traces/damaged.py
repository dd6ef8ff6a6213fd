"""What is said of files that an analysis keeps for the next one, when they are not as they were left."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pyarrow as pa

from chord.errors import RingcastError


class Damaged(RingcastError):
    """A file that was kept cannot be read. The text says what to remove."""


@contextmanager
def undamaged(path: Path, then: str) -> Iterator[None]:
    """Around the reading of kept files at or below `path`. Raises Damaged, which says what to do `then`."""
    try:
        yield
    except (pa.ArrowException, OSError, msgspec.DecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # of the system, not of Arrow
            raise
        raise Damaged(f"{path} is damaged ({_first_line(error)}); {then}") from None


def from_traces(parquet: Path) -> str:
    """What to do when a folder `RUN/parquet` is damaged."""
    return f"remove {parquet}, which is made again from the traces"


def counted_anew(watch: Path) -> str:
    """What to do when a folder `OUT/watch` is damaged."""
    return f"remove {watch} to have everything counted anew"


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
