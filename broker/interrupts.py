"""What Ctrl-C and SIGTERM do to a command that starts processes: the stack unwinds, once, and what was started ends."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)
INTERRUPTED = tuple(128 + number for number in SIGNALS)
UNWINDING_S = 5.0
AGAIN_S = 0.05


def unwind_on_signals() -> None:
    """Have SIGINT raise KeyboardInterrupt and SIGTERM SystemExit(143).

    More of them are ignored for 5 s, so that a second Ctrl-C does not leave half of the processes behind. What Python
    swallows, for it was raised in a finalizer or another callback, is raised again when that has ended.
    """
    first_at = float("-inf")
    taken = signal.SIGINT

    def unwind(number: int, _frame: FrameType | None) -> None:
        nonlocal first_at, taken
        if number != signal.SIGALRM:
            if time.monotonic() - first_at < UNWINDING_S:
                return
            first_at, taken = time.monotonic(), signal.Signals(number)
        if taken == signal.SIGINT:
            raise KeyboardInterrupt
        sys.exit(128 + taken)

    def swallowed(unraisable: sys.UnraisableHookArgs) -> None:
        if issubclass(unraisable.exc_type, (KeyboardInterrupt, SystemExit)):
            signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
        else:
            sys.__unraisablehook__(unraisable)

    for number in (*SIGNALS, signal.SIGALRM):
        signal.signal(number, unwind)
    sys.unraisablehook = swallowed


@contextmanager
def undisturbed() -> Iterator[None]:
    """Have SIGINT and SIGTERM wait until the block has ended. For what must not be left half done, and is short."""
    if current_thread() is not main_thread():  # signals come to the main thread alone
        yield
        return
    waiting: list[int] = []
    before = {number: signal.signal(number, lambda each, _frame: waiting.append(each)) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if waiting:
            signal.raise_signal(waiting[0])
