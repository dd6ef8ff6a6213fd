"""What becomes of an operation that a driver started."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from chord.driven import Then
from chord.errors import RingcastError

R = TypeVar("R")


class Outcome(Generic[R]):
    """`done` is False while the operation goes on; then it has a result, or an error. `then` hears of both."""

    __slots__ = ("_result", "_then", "done", "error")

    def __init__(self, then: Then | None = None) -> None:
        self.done = False
        self.error: RingcastError | None = None
        self._result: Any = None
        self._then = then

    def when_done(self, then: Then) -> None:
        """Call `then(result, error)` once the operation has ended, now if it has; one at a time."""
        if self.done:
            then(self._result, self.error)
        else:
            self._then = then

    def take(self, result: Any, error: RingcastError | None) -> None:
        """The operation ended. What a kernel calls."""
        self.done = True
        self._result = result
        self.error = error
        if self._then is not None:
            self._then(result, error)

    def value(self) -> R:
        """The result; raises the error of an operation that failed."""
        assert self.done, "the operation goes on"
        if self.error is not None:
            raise self.error
        result: R = self._result
        return result
