"""Waiting in tests: for a condition with a deadline, never for a fixed time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

POLL_S = 0.05


def eventually(predicate: Callable[[], T], timeout_s: float = 20.0, what: str = "") -> T:
    """Poll until `predicate()` is true and return its value; AssertionError with the last value after `timeout_s`."""
    deadline = time.monotonic() + timeout_s
    while True:
        seen = predicate()
        if seen:
            return seen
        assert time.monotonic() < deadline, f"{what or predicate} did not hold within {timeout_s} s; last: {seen!r}"
        time.sleep(POLL_S)
