"""The discrete-event core: a heap of (time, sequence), and the virtual time it makes.

Two events of one moment run in the order in which they were scheduled, so a run depends on nothing but its seed.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from heapq import heappop, heappush
from itertools import count
from typing import Any, Protocol

Action = Callable[[], None]


class Happens(Protocol):
    """What lies in the heap: is handed what was put there beside it when its time comes."""

    @property
    def receive(self) -> Callable[[Any, Any], None]: ...


class Event:
    """Something that is to happen. `cancel` makes it not happen."""

    __slots__ = ("_scheduler", "action")

    def __init__(self, scheduler: Scheduler, action: Action) -> None:
        self.action: Action | None = action
        self._scheduler = scheduler

    def cancel(self) -> None:
        """Let it not happen; harmless when it has happened."""
        self.action = None

    def receive(self, _first: None, _second: None) -> None:
        """Its time has come."""
        if self.action is None:
            self._scheduler.cancelled += 1
        else:
            self.action()


class Scheduler:
    """Virtual time in seconds, which passes only from one event to the next.

    Frames are most of what happens. sim/network.py puts them into the heap by itself, (time, number, mailbox, route,
    frame): an event object and a call for each would take longer than the heap.
    """

    __slots__ = ("_numbers", "cancelled", "heap", "next_number", "now")

    def __init__(self) -> None:
        self.now = 0.0
        self.cancelled = 0
        self.heap: list[tuple[float, int, Happens, Any, Any]] = []
        self._numbers = count()
        self.next_number = self._numbers.__next__

    @property
    def happened(self) -> int:
        """How many events have happened, frames that arrived among them."""
        return next(copy(self._numbers)) - len(self.heap) - self.cancelled

    def at(self, when: float, action: Action) -> Event:
        """Have `action` happen at a time, not before now."""
        event = Event(self, action)
        heappush(self.heap, (when if when > self.now else self.now, self.next_number(), event, None, None))
        return event

    def after(self, delay_s: float, action: Action) -> Event:
        """Have `action` happen so many seconds from now."""
        return self.at(self.now + delay_s, action)

    def run_for(self, duration_s: float) -> None:
        """Let so much time pass."""
        end = self.now + duration_s
        heap = self.heap
        while heap and heap[0][0] <= end:
            self.now, _, what, first, second = heappop(heap)
            what.receive(first, second)
        self.now = end

    def run_until(self, done: Callable[[], bool], at_most_s: float) -> bool:
        """Let events happen until `done()`, which is asked after each of them; False when the time is over first."""
        end = self.now + at_most_s
        heap = self.heap
        while not done():
            if not heap or heap[0][0] > end:
                self.now = end
                return False
            self.now, _, what, first, second = heappop(heap)
            what.receive(first, second)
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
