"""The discrete-event core: a heap of (time, priority, sequence), and the virtual time it makes.

Two events of one moment run in the order of their priority, then in the order in which they were scheduled, so a run
depends on nothing but its seed.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

Action = Callable[[], None]


class Event:
    """Something that is to happen. `cancel` makes it not happen."""

    __slots__ = ("action",)

    def __init__(self, action: Action) -> None:
        self.action: Action | None = action

    def cancel(self) -> None:
        """Let it not happen; harmless when it has happened."""
        self.action = None


class Scheduler:
    """Virtual time in seconds, which passes only from one event to the next."""

    def __init__(self) -> None:
        self.now = 0.0
        self.happened = 0
        self._heap: list[tuple[float, int, int, Event]] = []
        self._sequence = 0

    def at(self, when: float, action: Action, priority: int = 0) -> Event:
        """Have `action` happen at a time, not before now; lower priorities first."""
        event = Event(action)
        self._sequence += 1
        heapq.heappush(self._heap, (when if when > self.now else self.now, priority, self._sequence, event))
        return event

    def after(self, delay_s: float, action: Action, priority: int = 0) -> Event:
        """Have `action` happen so many seconds from now."""
        return self.at(self.now + delay_s, action, priority)

    def run_for(self, duration_s: float) -> None:
        """Let so much time pass."""
        self.run_until(lambda: False, duration_s)

    def run_until(self, done: Callable[[], bool], at_most_s: float) -> bool:
        """Let events happen until `done()`, which is asked after each of them; False when the time is over first."""
        end = self.now + at_most_s
        heap = self._heap
        while not done():
            if not heap or heap[0][0] > end:
                self.now = end
                return False
            self.now, _, _, event = heapq.heappop(heap)
            if event.action is not None:
                self.happened += 1
                event.action()
        return True

    def poll_until(self, done: Callable[[], bool], at_most_s: float, every_s: float) -> bool:
        """The same for a condition that is dear to ask: it is asked every so many seconds."""
        end = self.now + at_most_s
        while not done():
            if self.now >= end:
                return False
            self.run_for(min(every_s, end - self.now))
        return True


def minutes(time_s: float) -> str:
    """A virtual time as people read it: `2:05.250`."""
    whole, milliseconds = divmod(round(time_s * 1000), 1000)
    return f"{whole // 60}:{whole % 60:02d}.{milliseconds:03d}"
