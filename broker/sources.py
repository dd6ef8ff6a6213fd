"""What `ringcast pub` publishes: lines, or samples that it makes up; and how fast."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from itertools import chain, count, repeat
from typing import BinaryIO

from chord.errors import LocalProtocolError


def lines_of(source: BinaryIO, again: bool) -> Iterator[bytes]:
    """The lines without their ends; with `again`, from the top after the last one, for ever."""
    lines: Iterable[bytes] = source
    if again:
        kept = source.readlines()
        if not kept:
            raise LocalProtocolError("--count with an empty --file: there is no line to publish")
        lines = chain.from_iterable(repeat(kept))
    return (line.removesuffix(b"\n") for line in lines)


def made_up(size: int) -> Iterator[bytes]:
    """Samples of so many bytes for ever: their numbers, filled up with dots, or cut off where they have no room."""
    return ((b"%d" % number).ljust(size, b".")[:size] for number in count(1))


def paced(samples: Iterator[bytes], rate: float) -> Iterator[bytes]:
    """The samples, no more than `rate` of them per second (0: as they come)."""
    if not rate:
        yield from samples
        return
    due = time.monotonic()
    for sample in samples:
        wait_s = due - time.monotonic()
        if wait_s > 0:
            time.sleep(wait_s)
        # A source that was late does not make up for it in a burst.
        due = max(due, time.monotonic() - 1.0 / rate) + 1.0 / rate
        yield sample
