"""A writer and a reader that do not match, as either of them is told."""

from __future__ import annotations

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
