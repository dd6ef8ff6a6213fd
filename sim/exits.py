"""The exit codes of `python -m sim`."""

from __future__ import annotations

UNSAFE = FAILED = 1
"""Something happened that must never happen, or the command itself failed."""

USAGE = 2
NOT_CONVERGED = 3
"""Something that has to happen did not within its time."""
