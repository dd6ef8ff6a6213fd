"""Making batches of samples: of many, and of one (pubsub/layout.py)."""

from __future__ import annotations

import struct
import sys
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate, chain

from pubsub.layout import (
    CHECKED_FROM,
    CHECKSUM_AT,
    HAS_EXPIRIES,
    HAS_KEYS,
    HEAD,
    LOW_HALF,
    MAGIC,
    VERSION,
    Origin,
    checksum,
    digest,
)
from pubsub.limits import BATCH_BYTES, MAX_BATCH_SAMPLES


class SingleEncoder:
    """Makes batches of one sample of one producer and topic, as `encode` does, in a quarter of the time."""

    __slots__ = ("_constant", "_front", "_pack", "_topic")

    def __init__(self, origin: Origin) -> None:
        self._topic = origin.topic.encode("utf-8")
        self._front = HEAD.pack(MAGIC, VERSION, 0, origin.priority, *[0] * 13)[:CHECKSUM_AT]
        self._constant = (origin.key, origin.producer, origin.epoch, origin.partition)
        self._pack = struct.Struct(f"<QQIIQQIIB{len(self._topic)}sII").pack

    def encode(self, first: int, payload: bytes, time_us: int) -> bytes:
        """The batch of one sample, of which `first` is the sequence."""
        topic = self._topic
        size = len(payload)
        low = time_us & LOW_HALF
        checked = self._pack(*self._constant, first, time_us, 1, size, len(topic), topic, size, low) + payload
        return self._front + digest(checked, 0)[:8] + checked


def fitting(payloads: Sequence[bytes]) -> tuple[int, array[int]]:
    """How many of these payloads, from the first on, go into one batch (at least one), and their lengths."""
    lengths = array("I", map(len, payloads[:MAX_BATCH_SAMPLES]))
    if sum(lengths) > BATCH_BYTES:
        del lengths[bisect_left(list(accumulate(lengths)), BATCH_BYTES) + 1 :]
    return len(lengths), lengths


def encode(
    origin: Origin,
    first: int,
    payloads: Sequence[bytes],
    times_us: Sequence[int],
    lengths: array[int] | None = None,
    key_hashes: Sequence[int] | None = None,
    expiries_ms: Sequence[int] | None = None,
) -> bytearray:
    """A batch of these samples, of which `first` is the sequence of the first, as one frame.

    `lengths` saves counting them again.
    """
    topic = origin.topic.encode("utf-8")
    if lengths is None:
        lengths = array("I", map(len, payloads))
    columns = (HAS_KEYS if key_hashes is not None else 0) | (HAS_EXPIRIES if expiries_ms is not None else 0)
    parts = [b"", topic, _bytes(lengths), _low_halves(times_us)]
    if key_hashes is not None:
        parts.append(_bytes(array("Q", key_hashes)))
    if expiries_ms is not None:
        parts.append(_bytes(array("I", expiries_ms)))
    parts[0] = HEAD.pack(
        MAGIC,
        VERSION,
        columns,
        origin.priority,
        0,
        0,
        0,
        0,
        origin.key,
        origin.producer,
        origin.epoch,
        origin.partition,
        first,
        times_us[0],
        len(payloads),
        sum(lengths),
        len(topic),
    )
    frame = bytearray().join(chain(parts, payloads))
    frame[CHECKSUM_AT:CHECKED_FROM] = checksum(frame)
    return frame


def _low_halves(times_us: Sequence[int]) -> bytes:
    """The low 32 bits of each time: as telling as its difference from the first, and three times as fast to make."""
    halves = memoryview(array("Q", times_us)).cast("B").cast("I")
    return halves[0 if sys.byteorder == "little" else 1 :: 2].tobytes()


def _bytes(values: array[int]) -> bytes:
    if sys.byteorder == "big":  # pragma: no cover
        values.byteswap()
    return values.tobytes()
