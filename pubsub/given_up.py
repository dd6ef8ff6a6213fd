"""A subscriber that its publisher has given up, though it lacks samples: what the publisher says of it."""

from __future__ import annotations

from dataclasses import dataclass

GIVEN_UP_KEPT = 256
"""The latest of one topic, for `flush` to raise and for readers that come back."""


@dataclass(frozen=True, slots=True)
class GivenUp:
    """`reader` has the samples up to `received`, and nothing later is kept for it. `why` says what it did not do."""

    reader: str
    received: int
    why: str

    @property
    def text(self) -> str:
        """As a person is told."""
        return f"subscriber {self.reader} {self.why}; from sample {self.received + 1} on nothing is kept for it"
