"""Reruns what a real ring process recorded at the boundary of its kernel, effect for effect.

The same host is built from the same seed, and each event is fed to it at its time; what it does then has to be what
was recorded, byte for byte.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import msgspec

import chord
from chord import wire
from chord.driven import Output, Send
from chord.effects import Operation
from chord.errors import RemoteProtocolError, RingcastError
from chord.host import Host
from chord.recorded import (
    OPERATIONS,
    AnyEvent,
    Asked,
    Began,
    Clock,
    Effect,
    Recorded,
    Told,
    Unsent,
    digest_of,
    effect_of,
)
from sim.difference import Difference, difference
from sim.recording_file import RecordingFile, Unreadable


class Replayed(msgspec.Struct, kw_only=True):
    """How far a recording matches. `cut_bytes`: the length of its last row, if that was cut short.

    `has_grown`: it is still being recorded, and was replayed as far as it was at first.
    """

    address: str
    events: int
    effects: int
    recorded_s: float
    cut_bytes: int
    has_grown: bool
    same_code: bool
    python: str
    difference: Difference | None = None


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
        has_grown=False,
        same_code=first.code == digest_of(source.read_bytes() for source in sources),
        python=first.python,
    )
    began_at: float | None = None
    for number, event in enumerate(file.events(), 1):
        began_at = event.now if began_at is None else began_at
        seen, raised = _effects(path, number, replayer, event)
        report.difference = difference(number, event, seen, raised)
        if report.difference is not None:
            return report
        report.events = number
        report.effects += len(event.effects)
        report.recorded_s = round(event.now - began_at, 6)
    report.cut_bytes = file.cut_bytes
    report.has_grown = file.has_grown
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
