"""Reads the recording of a real ring process (chord/recorded.py) row by row, as far as it is whole.

A process that still runs goes on writing meanwhile: what was there when its recording was opened is what is read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import Any, BinaryIO

import msgpack
import msgspec

from chord.errors import RingcastError
from chord.recorded import FORMAT, AnyEvent, Clock, Recorded

EVENT: Any = AnyEvent
DAMAGE = (msgpack.UnpackException, msgspec.MsgspecError, ValueError, TypeError, OverflowError)
"""What reading damaged rows raises."""


class Unreadable(Exception):
    """A file that is no recording, or is damaged otherwise than by being cut short."""


class RecordingFile:
    """The rows of one open file, read as they are asked for. Raises Unreadable."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path = path
        self._file = file
        self._size = self._left = self._size_now()
        self._unpacker = msgpack.Unpacker(self, max_buffer_size=0, strict_map_key=False)
        try:
            self.first = msgspec.convert(self._unpacker.unpack(), Recorded)
        except (*DAMAGE, RingcastError):
            raise Unreadable(f"{path} is no recording of a ring node; `dht join --record FILE` makes one") from None
        if self.first.format != FORMAT:
            raise Unreadable(f"{path} has format {self.first.format}; this is made for format {FORMAT}")
        self._whole: int = self._unpacker.tell()

    def events(self) -> Iterator[AnyEvent]:
        """The events in order, without one that is cut short."""
        for number in range(1, self._size):
            try:
                event: AnyEvent = msgspec.convert(self._unpacker.unpack(), EVENT)
            except msgpack.OutOfData:
                return
            except DAMAGE as error:
                raise Unreadable(f"{self._path}: event {number} cannot be read: {error}") from None
            if not all(map(isfinite, _times(event))):
                raise Unreadable(f"{self._path}: event {number} cannot be read: its time is no number of seconds")
            self._whole = self._unpacker.tell()
            yield event

    def read(self, most: int) -> bytes:
        """The next bytes of those that were there at first: what rows are unpacked from."""
        some = self._file.read(min(most, self._left))
        self._left -= len(some)
        return some

    @property
    def cut_bytes(self) -> int:
        """What is left behind the last whole row, once all have been read."""
        return self._size - self._whole

    @property
    def has_grown(self) -> bool:
        """Whether something was written to the file since it was opened."""
        return self._size_now() > self._size

    def _size_now(self) -> int:
        return os.fstat(self._file.fileno()).st_size


def _times(event: AnyEvent) -> tuple[float, ...]:
    return (event.now, event.epoch_offset_s) if isinstance(event, Clock) else (event.now,)
