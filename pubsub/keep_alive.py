"""Signs of life for as long as the application's callback keeps the I/O thread of a subscriber from giving any."""

from __future__ import annotations

import threading
from collections.abc import Callable

EVERY_S = 2.0


class KeepAlive:
    """Calls `sign` every two seconds while the I/O thread is between `pause` and `resume`, in a thread of its own.

    A lock passes the sockets from one thread to the other.
    """

    def __init__(self, sign: Callable[[], None], name: str) -> None:
        self._sign = sign
        self._sockets = threading.Lock()
        self._sockets.acquire()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"ringcast keep-alive {name}", daemon=True)
        self._thread.start()

    def pause(self) -> None:
        """The I/O thread is about to call the application."""
        self._sockets.release()

    def resume(self) -> None:
        """The application has returned."""
        self._sockets.acquire()

    def close(self) -> None:
        """End the thread. For the I/O thread, which has the sockets."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(EVERY_S):
            if self._sockets.acquire(blocking=False):
                try:
                    self._sign()
                finally:
                    self._sockets.release()
