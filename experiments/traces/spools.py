"""Reads spool files that may be damaged: what can be read is, and what cannot is counted.

A killed process leaves a file that ends inside a row; a full disk or a stray write leaves garbage. Reading goes on at
the next place that looks like the start of a row, and says how many places and bytes were passed over.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
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


def read_spool(path: Path, damage: Damage) -> list[Row]:
    """The rows of one spool file (up to 100,000, which fit memory) without its headers."""
    data = _bytes(path, damage)
    rows = _whole(data)
    if rows is None:
        rows = list(_piecewise(data, damage))
    headers = [row for row in rows if type(row) is HeaderTrace]
    damage.newer_files += any(header.schema > SCHEMA_VERSION for header in headers)
    return [row for row in rows if type(row) is not HeaderTrace]


def started_us(path: Path) -> int:
    """When the writer of a spool file began, by its header; when the file last changed, if that cannot be read."""
    with suppress(OSError, *_UNDECODABLE), path.open("rb") as file:
        header = msgspec.convert(_unpacker(file.read(HEADER_BYTES)).unpack(), HeaderTrace)
        return header.started_us
    return path.stat().st_mtime_ns // 1000 if path.exists() else time.time_ns() // 1000


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


def _piecewise(data: bytes, damage: Damage) -> Iterator[Row]:
    """The rows of a damaged file, one by one, passing over what lies between them."""
    position = 0
    while position < len(data):
        for row, end in _objects(data, position):
            if not (type(row) is list and row and type(row[0]) is str):
                break
            position = end
            if row[0] not in TAGS:
                damage.unknown_rows += 1
                continue
            try:
                yield msgspec.convert(row, _ANY_ROW)
            except msgspec.ValidationError:
                damage.bad_rows += 1
        if position < len(data):
            position = _pass_over(data, position, damage)


def _bytes(path: Path, damage: Damage) -> bytes:
    """The content, also of a file that its writer renames from `.part` to `.trace` at this moment."""
    for name in (path, path.with_suffix(".trace")):
        try:
            return name.read_bytes()
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


def _pass_over(data: bytes, position: int, damage: Damage) -> int:
    """Where reading goes on after the bytes at `position`, which are no whole row."""
    found = START.search(data, position + 1)
    if found is None and START.match(data, position):
        damage.cut_tails += 1
        return len(data)
    end = found.start() if found else len(data)
    damage.garbage += 1
    damage.garbage_bytes += end - position
    return end
