"""What a recording of a ring process holds: all that reached its kernel, and all that left it, row by row.

A file is one `Recorded` and then one row an event, each with the effects that it had, so that a row cut short takes
nothing but itself with it. Events count from 1. `chord/recording.py` writes recordings; `sim/replay.py` feeds them to
the same code again. Times are seconds of the process's monotonic clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import mmh3
import msgspec

from chord import wire
from chord.driven import Emit, Output, Respond, Send
from chord.effects import Operation
from chord.host import Host
from chord.settings import Settings

FORMAT = 1

OPERATIONS: dict[str, Callable[..., Operation[Any]]] = {
    operation.__name__: operation for operation in (Host.boot, Host.leave, Host.require_address, Host.walk)
}
"""What a process has its host do, by name."""


class Recorded(msgspec.Struct, tag="recorded", array_like=True, frozen=True, kw_only=True):
    """The first row: what made the process. `seed` is that of its random.Random; `code` a digest of chord's sources."""

    format: int
    code: str
    python: str
    address: str
    vnodes: int
    seed: int
    settings: Settings


class Sent(msgspec.Struct, tag="send", array_like=True, frozen=True):
    """A request to the process at an address."""

    address: str
    frame: bytes


class Answered(msgspec.Struct, tag="respond", array_like=True, frozen=True):
    """A reply along the route of a request, named by the number of its event."""

    request: int
    frame: bytes


class Kept(msgspec.Struct, tag="emit", array_like=True, frozen=True):
    """A trace row."""

    row: bytes


Effect = Sent | Answered | Kept


class Event(msgspec.Struct, array_like=True, kw_only=True):
    """Something that reached the kernel, and what it did then. `raised`: the error that it ended the process with."""

    now: float
    effects: list[Effect] = []
    raised: str = ""


class Clock(Event, tag="clock"):
    """The kernel was told the time, and what to add to it for wall-clock time."""

    epoch_offset_s: float


class Began(Event, tag="start"):
    """An operation of the host was started, with these arguments."""

    operation: str
    arguments: list[Any]


class Asked(Event, tag="request"):
    """A request arrived."""

    frame: bytes


class Told(Event, tag="reply"):
    """A reply arrived."""

    frame: bytes


class Unsent(Event, tag="unsent"):
    """A step of a lookup was not sent, for the connection to its address was broken."""

    address: str
    frame: bytes


class Woken(Event, tag="timer"):
    """A deadline was over."""


AnyEvent = Clock | Began | Asked | Told | Unsent | Woken


def effect_of(output: Output) -> Effect:
    """One output of a kernel whose routes are event numbers."""
    if type(output) is Send:
        return Sent(output.address, wire.encode(output.message))
    if type(output) is Respond:
        return Answered(output.route, wire.encode(output.message))
    assert type(output) is Emit
    return Kept(wire.encode(output.row))


def digest_of(sources: Iterable[bytes]) -> str:
    """Tells whether two processes ran the same code: 32 hexadecimal digits."""
    hasher = mmh3.mmh3_x64_128()
    for source in sources:
        hasher.update(source)
    return str(hasher.digest().hex())
