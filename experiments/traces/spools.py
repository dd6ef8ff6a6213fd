"""Reads spool files that may be damaged: what can be read is, and what cannot is counted.

A killed process leaves a file that ends inside a row; a full disk or a stray write leaves garbage. Reading goes on at
the next place that looks like the start of a row, and says how many places and bytes were passed over.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import msgpack
import msgspec

from chord.trace import SCHEMA_VERSION, EventTrace, HeaderTrace, LookupTrace
from pubsub.trace import DeliveryTrace, PublicationTrace

Row = HeaderTrace | LookupTrace | EventTrace | DeliveryTrace | PublicationTrace

TAGS = tuple(str(row.__struct_config__.tag) for row in Row.__args__)
MAX_ELEMENTS = 4096
MAX_TEXT_BYTES = 1 << 20
HEADER_BYTES = 4096

_ANY_ROW: Any = Row
_ROWS: msgspec.msgpack.Decoder[list[Row]] = msgspec.msgpack.Decoder(list[Row])
_UNDECODABLE = (ValueError, TypeError, OverflowError, msgpack.UnpackException, msgspec.MsgspecError)

# An array of up to 15 elements, or of up to 65,535, whose first element is one of the tags.
START = re.compile(
    rb"(?:[\x90-\x9f]|\xdc..)(?:" + b"|".join(bytes([0xA0 | len(tag)]) + tag.encode() for tag in TAGS) + b")",
    re.DOTALL,
)


@dataclass(slots=True)
class Damage:
    """What reading had to pass over: rows in the wrong form, garbage, cut tails, and rows of tables unknown here."""

    bad_rows: int = 0
    garbage: int = 0
    garbage_bytes: int = 0
    cut_tails: int = 0
    unknown_rows: int = 0
    newer_files: int = 0
    unreadable: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    """Which spool files the above was found in."""

    def add(self, other: Damage) -> None:
        """Count what `other` counted too."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))

    def __bool__(self) -> bool:
        return any(getattr(self, each.name) for each in fields(self))


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read of a spool file from some place on, and the place where the next reading goes on.

    What ends the file and is no whole row may become one: `end` lies before it, and `open` is what it counts as if it
    stays like that. `settled` is what was passed over before it.
    """

    rows: list[Row]
    end: int
    settled: Damage
    open: Damage


def read_on(path: Path, start: int = 0) -> Reading:
    """The rows of one spool file (up to 100,000, which fit memory) from byte `start` on, without its headers."""
    settled, last = Damage(), Damage()
    data = _bytes(path, start, settled)
    end = len(data)
    rows = _whole(data)
    if rows is None:
        rows, end = _piecewise(data, settled, last)
    headers = [row for row in rows if type(row) is HeaderTrace]
    settled.newer_files += any(header.schema > SCHEMA_VERSION for header in headers)
    return Reading([row for row in rows if type(row) is not HeaderTrace], start + end, settled, last)


def read_spool(path: Path, damage: Damage) -> list[Row]:
    """All rows of one spool file; what is not read adds to `damage`."""
    reading = read_on(path)
    damage.add(reading.settled)
    damage.add(reading.open)
    return reading.rows


def started_us(path: Path) -> int:
    """When the writer of a spool file began, by its header; when the file last changed, if that cannot be read.

    Now, if it went away.
    """
    for name in (path, path.with_suffix(".trace")):  # its writer may rename it at this moment
        with suppress(OSError, *_UNDECODABLE), name.open("rb") as file:
            header = msgspec.convert(_unpacker(file.read(HEADER_BYTES)).unpack(), HeaderTrace)
            return header.started_us
        with suppress(OSError):
            return name.stat().st_mtime_ns // 1000
    return time.time_ns() // 1000


def _whole(data: bytes) -> list[Row] | None:
    """Every row of a file without damage, in one go; None if there is any.

    With an array's head before them, the rows are one message, which is decoded four times as fast as row by row.
    """
    unpacker = _unpacker(data)
    count = 0
    try:
        while unpacker.tell() < len(data):
            unpacker.skip()
            count += 1
        return _ROWS.decode(b"\xdd" + count.to_bytes(4, "big") + data)
    except _UNDECODABLE:
        return None


def _piecewise(data: bytes, settled: Damage, last: Damage) -> tuple[list[Row], int]:
    """The rows of a damaged file, one by one, passing over what lies between them; and where the last of them ends.

    What comes after it counts in `last`.
    """
    rows: list[Row] = []
    position = 0
    while position < len(data):
        for row, end in _objects(data, position):
            if not (type(row) is list and row and type(row[0]) is str):
                break
            position = end
            if row[0] not in TAGS:
                settled.unknown_rows += 1
                continue
            try:
                rows.append(msgspec.convert(row, _ANY_ROW))
            except msgspec.ValidationError:
                settled.bad_rows += 1
        if position < len(data):
            following = START.search(data, position + 1)
            if following is None:
                _count_last(data, position, last)
                break
            _count_garbage(following.start() - position, settled)
            position = following.start()
    return rows, position


def _count_last(data: bytes, position: int, damage: Damage) -> None:
    """The end of a file, in which no row begins any more, unless it is the one that was cut."""
    if START.match(data, position):
        damage.cut_tails += 1
    else:
        _count_garbage(len(data) - position, damage)


def _count_garbage(size: int, damage: Damage) -> None:
    damage.garbage += 1
    damage.garbage_bytes += size


def _bytes(path: Path, start: int, damage: Damage) -> bytes:
    """The content from `start` on, also of a file that its writer renames from `.part` to `.trace` at this moment."""
    for name in (path, path.with_suffix(".trace")):
        try:
            with name.open("rb") as file:
                file.seek(start)
                return file.read()
        except FileNotFoundError:
            continue
        except OSError as error:
            damage.unreadable.append(f"{path.name}: {error.strerror}")
            return b""
    damage.unreadable.append(f"{path.name}: it went away")
    return b""


def _objects(data: bytes, position: int) -> Iterator[tuple[object, int]]:
    """Objects and where each ends, as far as they can be decoded; what they are is not checked yet."""
    unpacker = _unpacker(memoryview(data)[position:])
    try:
        for row in unpacker:
            yield row, position + unpacker.tell()
    except _UNDECODABLE:
        return


def _unpacker(data: bytes | memoryview) -> msgpack.Unpacker:
    unpacker = msgpack.Unpacker(
        raw=False,
        strict_map_key=False,
        max_buffer_size=0,
        max_array_len=MAX_ELEMENTS,
        max_map_len=MAX_ELEMENTS,
        max_str_len=MAX_TEXT_BYTES,
        max_bin_len=MAX_TEXT_BYTES,
        max_ext_len=MAX_TEXT_BYTES,
    )
    unpacker.feed(data)
    return unpacker
