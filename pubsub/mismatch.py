"""A writer and a reader that do not match, as either of them is told."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

MISMATCHES_KEPT = 256
"""The latest of them; a subscriber that is started again and again is a new one every time."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """On `topic`, less is offered than requested. `other` is the identifier of the other side.

    `policies` names what is incompatible, and `text` says what was offered and requested in each.
    """

    topic: str
    other: str
    policies: tuple[str, ...]
    text: str


class Mismatches:
    """The latest mismatches of one client; `listener` is called for each that is new."""

    def __init__(self) -> None:
        self.latest: deque[Mismatch] = deque(maxlen=MISMATCHES_KEPT)
        self.listener: Callable[[Mismatch], None] | None = None

    def add(self, mismatch: Mismatch) -> None:
        """Keep a mismatch, and tell of it, unless it is known."""
        if mismatch not in self.latest:
            self.latest.append(mismatch)
            if self.listener is not None:
                self.listener(mismatch)
