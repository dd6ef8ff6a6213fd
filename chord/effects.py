"""The closed vocabulary that operations yield, and how they use it.

An operation is a generator. It asks with `reply = yield from call(pointer, request)` and never with a bare `call(...)`,
which would do nothing (the architecture test catches that). The rules that keep operations safe: ARCHITECTURE.md.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

import msgspec

from chord.errors import PeerUnreachable, RingcastError
from chord.messages import Pointer, RequestBody

R = TypeVar("R")


class Call(msgspec.Struct, gc=False):
    """Send a request and resume with the body of its reply, or with an exception.

    The time-out comes from the round trips measured to that address; each further `attempt` doubles it. `outward`: by
    way of the network, even when the address is this process's own.

    With a `token` the request is cast, and its answer is an `Arrived` of that token, whoever casts it; the time-out
    comes from how long such answers took before.
    """

    to: Pointer
    request: RequestBody
    attempt: int = 0
    outward: bool = False
    token: int = 0


class Cast(msgspec.Struct, gc=False):
    """Send a request to a member, or to a process by its address, that is not answered; resume at once."""

    to: Pointer | str
    request: RequestBody


class Sleep(msgspec.Struct, gc=False):
    """Resume after so many seconds."""

    seconds: float


class Gather(msgspec.Struct):
    """Run operations side by side; resume with a list of their results or RingcastErrors, in order."""

    operations: list[Operation[Any]]


class Spawn(msgspec.Struct):
    """Start an operation that goes on by itself; resume at once. Its RingcastErrors are dropped."""

    operation: Operation[Any]


Effect = Call | Cast | Sleep | Gather | Spawn
Operation = Generator[Effect, Any, R]


def call(to: Pointer, request: RequestBody, expected: type[R], attempts: int = 1) -> Operation[R]:
    """Ask `to` and return its reply of type `expected`; a slow peer is asked again, with twice the time-out.

    Only requests that may be carried out twice take more than one attempt. Raises PeerUnreachable, Refused or
    RemoteProtocolError.
    """
    for attempt in range(attempts):
        try:
            reply = yield Call(to, request, attempt)
        except PeerUnreachable:
            if attempt + 1 == attempts:
                raise
        else:
            assert isinstance(reply, expected)
            return reply
    raise AssertionError(f"a call needs at least one attempt, not {attempts}")


def cast(to: Pointer | str, request: RequestBody) -> Operation[None]:
    """Send a request that is not answered."""
    yield Cast(to, request)


def sleep(seconds: float) -> Operation[None]:
    """Wait."""
    yield Sleep(seconds)


def gather(operations: list[Operation[R]]) -> Operation[list[R | RingcastError]]:
    """Run operations side by side and return their results or errors in order."""
    results: list[R | RingcastError] = yield Gather(list(operations))
    return results


def spawn(operation: Operation[Any]) -> Operation[None]:
    """Start an operation that goes on by itself."""
    yield Spawn(operation)
