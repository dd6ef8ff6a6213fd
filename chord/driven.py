"""What a driver does with a kernel, and what it is given to send and to keep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from chord.effects import Operation
from chord.errors import RingcastError
from chord.messages import ConfirmOwner, Forward, Get, NextHop, Reply, Request

LOOKUP_STEPS = (NextHop, ConfirmOwner, Forward, Get)
"""Requests of which a driver says at once when they cannot be sent: whoever looks for something has others to ask."""


class Send(msgspec.Struct, gc=False):
    """To be sent to the process at an address. `answered_elsewhere`: somebody else will answer, by a cast."""

    address: str
    message: Request
    answered_elsewhere: bool = False


class Respond(msgspec.Struct, gc=False):
    """To be sent back along the route that a request came by."""

    route: Any
    message: Reply


class Emit(msgspec.Struct):
    """A trace row to be kept."""

    row: msgspec.Struct


Output = Send | Respond | Emit
Then = Callable[[Any, "RingcastError | None"], None]


class Driven(Protocol):
    """What a driver does with a kernel: all that reaches it and leaves it (chord/recording.py wraps just this)."""

    now: float
    epoch_offset_s: float

    @property
    def due(self) -> float: ...

    def start(self, operation: Operation[Any], then: Then | None = None) -> None: ...
    def on_message(self, source: Any, message: Request | Reply, now: float) -> list[Output]: ...
    def on_unsent(self, send: Send, now: float) -> list[Output]: ...
    def on_timer(self, now: float) -> list[Output]: ...
    def deadline(self) -> float | None: ...
    def take(self) -> list[Output]: ...
