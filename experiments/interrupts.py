"""What Ctrl-C and SIGTERM do to `python -m experiments`: the stack unwinds, once, and what was started ends."""

from __future__ import annotations

import signal
import sys
import time
from types import FrameType

INTERRUPTED = (128 + signal.SIGINT, 128 + signal.SIGTERM)
UNWINDING_S = 5.0


def unwind_on_signals() -> None:
    """Have SIGINT raise KeyboardInterrupt and SIGTERM SystemExit(143).

    More of them are ignored for 5 s, so that a second Ctrl-C does not leave half of the processes behind.
    """
    first_at = float("-inf")

    def unwind(number: int, _frame: FrameType | None) -> None:
        nonlocal first_at
        if time.monotonic() - first_at < UNWINDING_S:
            return
        first_at = time.monotonic()
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        sys.exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, unwind)
