"""A gate: one thread sleeps until another has something for it."""

from __future__ import annotations

import threading
from contextlib import suppress


class Gate:
    """The sleeper calls `prepare`, looks once more whether there is something, and calls `wait`; the waker `open`.

    One sleeper, and any number of wakers: the I/O thread, and one that closes the client. When two open at once, the
    second does nothing. The sleeper may wake for no reason, so it looks again.
    """

    __slots__ = ("_lock", "expected")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()
        self.expected = False

    def prepare(self) -> None:
        """From now on the waker opens the gate."""
        self.expected = True

    def wait(self, timeout_s: float) -> None:
        """Sleep until the gate is opened, at most so long (negative: for ever)."""
        self._lock.acquire(timeout=timeout_s if timeout_s < 0 else min(timeout_s, threading.TIMEOUT_MAX))
        self.expected = False

    def open(self) -> None:
        """Wake the sleeper, if there is one."""
        if self.expected:
            self.expected = False
            with suppress(RuntimeError):  # it is open: another waker was quicker
                self._lock.release()
