"""Reading spool files back, for tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgpack


def read_rows(path: Path) -> Iterator[list[object]]:
    """The rows of one spool file, each a list that begins with its tag; stops quietly at a row cut short."""
    with path.open("rb") as file:
        unpacker = msgpack.Unpacker(file, raw=False, strict_map_key=False)
        yield from unpacker
