"""Reads the recording of a real ring process (chord/recorded.py) row by row, as far as it is whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgpack
import msgspec

from chord.errors import RingcastError
from chord.recorded import FORMAT, AnyEvent, Recorded

EVENT: Any = AnyEvent
DAMAGE = (msgpack.UnpackException, msgspec.MsgspecError, ValueError, TypeError, OverflowError)
"""What reading damaged rows raises."""


class Unreadable(Exception):
    """A file that is no recording, or is damaged otherwise than by being cut short."""


class RecordingFile:
    """The rows of one open file, read as they are asked for. Raises Unreadable."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path = path
        self._size = path.stat().st_size
        self._unpacker = msgpack.Unpacker(file, max_buffer_size=0, strict_map_key=False)
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
            self._whole = self._unpacker.tell()
            yield event

    @property
    def cut_bytes(self) -> int:
        """What is left behind the last whole row, once all have been read."""
        return self._size - self._whole
