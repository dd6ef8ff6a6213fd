"""What a broker's replica asks of the process around it. The process moves messages; the replica decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from broker.stream import Stream
from chord.asking import Ring
from chord.effects import Operation
from pubsub.messages import Subscribe


class Outside(Protocol):
    """A process, or what stands in for one in tests."""

    ring: Ring
    warn: Callable[[str], None]

    def now(self) -> float:
        """The monotonic time, in seconds."""

    def begin(self, operation: Operation[Any]) -> Any:
        """Begin an operation."""

    def tell(self, route: bytes, message: msgspec.Struct) -> bool:
        """Tell a reader or a backup something; whether it can be reached."""

    def ask(self, address: str, message: msgspec.Struct) -> None:
        """Say something to a publisher or a primary."""

    def readmit(self, route: bytes, message: Subscribe) -> None:
        """A reader that had to wait asks again."""

    def touch(self, stream: Stream) -> None:
        """Send the readers of a stream what they have room for, soon."""

    def forget(self, stream: Stream) -> None:
        """Serve a stream no more, and tell its readers so."""

    def forget_all(self) -> None:
        """Serve nobody any more."""

    def propose(self, epoch: int, in_sync: frozenset[str]) -> None:
        """Have the brokers in sync be these, if nobody else leads by then. A Term tells of it."""

    def look_again(self) -> None:
        """Have ZooKeeper say again who leads: somebody has heard of a higher epoch. A Term tells if that is so."""

    def event(self, kind: str, detail: str) -> None:
        """Something that belongs into the traces."""
