"""Records a ring node at the boundary of its kernel, for `python -m sim replay`: `dht join --record FILE`.

A recording must not be in the way of the node: when it cannot be written or has grown large it ends, and says so.
"""

from __future__ import annotations

import inspect
import platform
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from chord import wire
from chord.driven import Output, Respond, Send, Then
from chord.effects import Operation
from chord.errors import LocalProtocolError
from chord.kernel import Kernel
from chord.messages import Reply, Request
from chord.recorded import (
    FORMAT,
    AnyEvent,
    Asked,
    Began,
    Clock,
    Effect,
    Recorded,
    Told,
    Unsent,
    Woken,
    digest_of,
    effect_of,
)
from chord.settings import Settings

BUFFERED_BYTES = 64 * 1024
BUFFERED_S = 0.5
LARGEST_BYTES = 1 << 30
"""A node that idles records some 10 MB an hour."""


def described(settings: Settings, address: str, vnodes: int, seed: int) -> Recorded:
    """The first row of a recording by this process."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return Recorded(
        format=FORMAT,
        code=digest_of(source.read_bytes() for source in sources),
        python=platform.python_version(),
        address=address,
        vnodes=vnodes,
        seed=seed,
        settings=settings,
    )


class Recording:
    """A file of events. What has happened reaches it within 0.5 s of the next event.

    Raises LocalProtocolError when the file exists or cannot be made.
    """

    def __init__(self, path: Path, first: Recorded, largest_bytes: int = LARGEST_BYTES) -> None:
        self._path = path
        self._largest_bytes = largest_bytes
        self._pending = bytearray(wire.encode(first))
        self._written = 0
        self._flushed_at = 0.0
        try:
            self._file = path.open("xb", buffering=0)
        except FileExistsError:
            raise LocalProtocolError(f"{path} exists, and a recording replaces nothing; name another file") from None
        except OSError as error:
            raise LocalProtocolError(f"{path} cannot be recorded to: {error.strerror}") from None

    def append(self, event: AnyEvent) -> None:
        """Keep an event and its effects."""
        if self._file.closed:
            return
        row = wire.encode(event)
        if self._written + len(self._pending) + len(row) > self._largest_bytes:
            self._flush()
            self._end(f"it has {self._largest_bytes} bytes")
            return
        self._pending += row
        if len(self._pending) >= BUFFERED_BYTES or event.now - self._flushed_at >= BUFFERED_S:
            self._flush()
            self._flushed_at = event.now

    def close(self) -> None:
        """Write what is buffered. Closing twice is harmless."""
        if not self._file.closed:
            self._flush()
            self._file.close()

    def _flush(self) -> None:
        pending = memoryview(bytes(self._pending))
        self._pending.clear()
        self._written += len(pending)
        try:
            while pending:
                pending = pending[self._file.write(pending) :]
        except OSError as error:
            self._end(error.strerror or str(error))

    def _end(self, why: str) -> None:
        if self._file.closed:
            return
        with suppress(OSError):
            self._file.close()
        with suppress(OSError):  # stderr may lie on the same disk
            sys.stderr.write(f"warning: the recording {self._path} ends here: {why}; the node goes on\n")


class _Route:
    """A route as the kernel is handed it, with the number of the event that brought it."""

    __slots__ = ("event", "route")

    def __init__(self, event: int, route: Any) -> None:
        self.event = event
        self.route = route


class RecordedKernel:
    """What a driver sees of a kernel; `keep` is given each event with the effects that it had."""

    def __init__(self, kernel: Kernel, keep: Callable[[AnyEvent], None]) -> None:
        self._kernel = kernel
        self._keep = keep
        self._count = 0
        self._began: Began | None = None
        self.address = kernel.address

    @property
    def now(self) -> float:
        """The kernel's time."""
        return self._kernel.now

    @now.setter
    def now(self, now: float) -> None:
        self._kernel.now = now

    @property
    def epoch_offset_s(self) -> float:
        """What makes wall-clock time of the kernel's time."""
        return self._kernel.epoch_offset_s

    @epoch_offset_s.setter
    def epoch_offset_s(self, offset_s: float) -> None:
        self._kernel.epoch_offset_s = offset_s
        self._happened(Clock(now=self.now, epoch_offset_s=offset_s), list)

    def start(self, operation: Operation[Any], then: Then | None = None) -> None:
        """Begin an operation of the host; its effects are recorded when they are taken."""
        name = getattr(operation, "__name__", repr(operation))
        _host, *arguments = inspect.getgeneratorlocals(operation).values()  # it has not begun: what it was called with
        event = Began(now=self.now, operation=name, arguments=arguments)
        self._began = event
        try:
            self._kernel.start(operation, then)
        except BaseException as error:
            event.raised = repr(error)
            self.take()
            raise

    def on_message(self, source: Any, message: Request | Reply, now: float) -> list[Output]:
        """A message arrived."""
        frame = wire.encode(message)
        if type(message) is Reply:
            return self._happened(Told(now=now, frame=frame), lambda: self._kernel.on_message(None, message, now))
        route = _Route(self._count + 1, source)
        return self._happened(Asked(now=now, frame=frame), lambda: self._kernel.on_message(route, message, now))

    def on_unsent(self, send: Send, now: float) -> list[Output]:
        """A request was not sent."""
        event = Unsent(now=now, address=send.address, frame=wire.encode(send.message))
        return self._happened(event, lambda: self._kernel.on_unsent(send, now))

    def on_timer(self, now: float) -> list[Output]:
        """Time passed."""
        return self._happened(Woken(now=now), lambda: self._kernel.on_timer(now))

    @property
    def due(self) -> float:
        """Nothing is due before this time."""
        return self._kernel.due

    def deadline(self) -> float | None:
        """When `on_timer` is wanted next, or None."""
        return self._kernel.deadline()

    def take(self) -> list[Output]:
        """What the operation that was begun last has led to so far."""
        event, self._began = self._began, None
        if event is None:
            return self._kernel.take()
        return self._happened(event, self._kernel.take)

    def _happened(self, event: AnyEvent, carry_out: Callable[[], list[Output]]) -> list[Output]:
        self._count += 1
        try:
            outputs = carry_out()
        except BaseException as error:
            event.raised = repr(error)
            self._keep(event)
            raise
        event.effects = [_recorded(output) for output in outputs]
        self._keep(event)
        return outputs


def _recorded(output: Output) -> Effect:
    """An output as it is recorded; one that goes along a route gets that of the driver back."""
    if type(output) is not Respond:
        return effect_of(output)
    route: _Route = output.route
    output.route = route.event
    effect = effect_of(output)
    output.route = route.route
    return effect
