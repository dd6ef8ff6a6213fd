"""Reruns what a real ring process recorded at the boundary of its kernel, effect for effect.

The same host is built from the same seed, and each event is fed to it at its time; what it does then has to be what
was recorded, byte for byte. The format is chord/recorded.py's.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any, BinaryIO

import msgpack
import msgspec

import chord
from chord import wire
from chord.effects import Operation
from chord.errors import RemoteProtocolError, RingcastError
from chord.host import Host
from chord.kernel import Output, Send
from chord.recorded import (
    FORMAT,
    OPERATIONS,
    Answered,
    AnyEvent,
    Asked,
    Began,
    Clock,
    Effect,
    Kept,
    Recorded,
    Sent,
    Told,
    Unsent,
    digest_of,
    effect_of,
)

EVENT: Any = AnyEvent
DAMAGE = (msgpack.UnpackException, msgspec.MsgspecError, ValueError, TypeError, OverflowError)
"""What reading damaged rows raises."""

SHOWN = 400
"""Characters of an effect that a difference shows."""


class Unreadable(Exception):
    """A file that is no recording, or is damaged otherwise than by being cut short."""


class Difference(msgspec.Struct, kw_only=True):
    """The first effect that is not as recorded: the `effect`-th (from 1) of an event (from 1) at a time in seconds."""

    event: int
    kind: str
    at_s: float
    effect: int
    expected: str
    seen: str


class Replayed(msgspec.Struct, kw_only=True):
    """How far a recording matches. `cut_bytes`: the length of its last row, if that was cut short."""

    address: str
    events: int
    effects: int
    recorded_s: float
    cut_bytes: int
    same_code: bool
    python: str
    difference: Difference | None = None


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


class _Replayer:
    """The host that a recording describes, and what its kernel is told."""

    def __init__(self, first: Recorded) -> None:
        try:
            self.host = Host(first.settings, first.address, first.vnodes, random.Random(first.seed))
        except RingcastError as error:
            raise Unreadable(f"no ring process is like the recorded one: {error}") from None

    def carry_out(self, number: int, event: AnyEvent) -> list[Output]:
        """Feed one event. Raises Unreadable when it is none, and whatever the kernel raises."""
        kernel = self.host.kernel
        match event:
            case Clock():
                kernel.now, kernel.epoch_offset_s = event.now, event.epoch_offset_s
                return []
            case Began():
                operation = self._operation(event)
                kernel.now = event.now
                kernel.start(operation)
                return kernel.take()
            case Asked():
                return kernel.on_message(number, wire.decode_request(event.frame), event.now)
            case Told():
                return kernel.on_message(None, wire.decode_reply(event.frame), event.now)
            case Unsent():
                return kernel.on_unsent(Send(event.address, wire.decode_request(event.frame)), event.now)
        return kernel.on_timer(event.now)

    def _operation(self, event: Began) -> Operation[Any]:
        begin = OPERATIONS.get(event.operation)
        if begin is None:
            raise Unreadable(f"it starts {event.operation!r}, which is no operation of a ring process")
        return begin(self.host, *event.arguments)


def replay(path: Path) -> Replayed:
    """Feed a recording to the code of this checkout, up to the first difference. Raises Unreadable."""
    try:
        with path.open("rb") as opened:
            return _replay(path, RecordingFile(path, opened))
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror}") from None


def _replay(path: Path, file: RecordingFile) -> Replayed:
    first = file.first
    sources = sorted(Path(chord.__file__).parent.glob("*.py"))
    replayer = _Replayer(first)
    report = Replayed(
        address=first.address,
        events=0,
        effects=0,
        recorded_s=0.0,
        cut_bytes=0,
        same_code=first.code == digest_of(source.read_bytes() for source in sources),
        python=first.python,
    )
    began_at: float | None = None
    for number, event in enumerate(file.events(), 1):
        began_at = event.now if began_at is None else began_at
        seen, raised = _effects(path, number, replayer, event)
        report.difference = _difference(number, event, seen, raised)
        if report.difference is not None:
            return report
        report.events = number
        report.effects += len(event.effects)
        report.recorded_s = round(event.now - began_at, 6)
    report.cut_bytes = file.cut_bytes
    return report


def _effects(path: Path, number: int, replayer: _Replayer, event: AnyEvent) -> tuple[list[Effect], str]:
    """What an event leads to, and the error that it raises: a bug of the core, which a recording ends with."""
    try:
        outputs = replayer.carry_out(number, event)
    except (Unreadable, RemoteProtocolError) as error:
        raise Unreadable(f"{path}: event {number} cannot be fed: {error}") from None
    except Exception as error:
        return [], repr(error)
    return [effect_of(output) for output in outputs], ""


def _difference(number: int, event: AnyEvent, seen: list[Effect], raised: str) -> Difference | None:
    kind = str(event.__struct_config__.tag)
    if raised != event.raised:
        expected = event.raised or "no error"
        return Difference(
            event=number, kind=kind, at_s=event.now, effect=0, expected=expected, seen=raised or "no error"
        )
    if raised:
        return None
    for place, (recorded, effect) in enumerate(zip_longest(event.effects, seen), 1):
        if recorded != effect:
            expected, seen_text = _shown(recorded), _shown(effect)
            pairs = enumerate(zip(expected, seen_text, strict=False))
            differ_at = next((at for at, (one, other) in pairs if one != other), 0)
            return Difference(
                event=number,
                kind=kind,
                at_s=event.now,
                effect=place,
                expected=_cut(expected, differ_at),
                seen=_cut(seen_text, differ_at),
            )
    return None


def _shown(effect: Effect | None) -> str:
    """An effect for people."""
    match effect:
        case None:
            text = "nothing"
        case Sent():
            text = f"send to {effect.address}: {_decoded(effect.frame)}"
        case Answered():
            text = f"reply to the request of event {effect.request}: {_decoded(effect.frame)}"
        case Kept():
            text = f"trace row {_decoded(effect.row)}"
    return text


def _cut(text: str, differ_at: int) -> str:
    """The beginning of a long text, and what follows where it differs from the other."""
    if len(text) <= SHOWN:
        return text
    if differ_at < SHOWN // 2:
        return f"{text[:SHOWN]}..."
    return f"{text[: SHOWN // 2]}...{text[differ_at : differ_at + SHOWN // 2]}..."


def _decoded(frame: bytes) -> str:
    try:
        return str(msgspec.msgpack.decode(frame))
    except wire.BAD_INPUT:
        return frame.hex()
