"""What makes each sample known on the wire: it begins with who sent it and its number, in letters."""

from __future__ import annotations

import re
from collections.abc import Iterator

FORM = b"ringcast-sample:%d:%d;"
LEAST_BYTES = 40
"""A payload of so many bytes has room for every token."""

_TOKEN = re.compile(rb"ringcast-sample:(\d{1,9}):(\d{1,9});")


def payload(publisher: int, sequence: int, size: int) -> bytes:
    """A sample of `size` bytes: publisher (from 0) and sequence (from 1), as far as there is room, and filling."""
    return (FORM % (publisher, sequence)).ljust(size, b"x")[:size]


def found(data: bytes) -> Iterator[tuple[int, int]]:
    """Each (publisher, sequence) whose sample is seen in these bytes."""
    for match in _TOKEN.finditer(data):
        yield int(match[1]), int(match[2])
