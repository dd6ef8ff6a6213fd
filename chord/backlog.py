"""What waits for the connections to peers: bounded in messages and bytes for each, and in bytes for all of them."""

from __future__ import annotations

from collections import deque

from chord.limits import MAX_BACKLOG, MAX_BACKLOG_BYTES, MAX_BACKLOGS_BYTES


class Waiting:
    """The bytes of all backlogs of one process."""

    __slots__ = ("size",)

    def __init__(self) -> None:
        self.size = 0


class Backlog:
    """Frames for one peer, the oldest first, each with the time when it was put in."""

    __slots__ = ("_all", "_frames", "size")

    def __init__(self, waiting: Waiting) -> None:
        self._all = waiting
        self._frames: deque[tuple[float, bytes]] = deque()
        self.size = 0
        """Bytes."""

    def __bool__(self) -> bool:
        return bool(self._frames)

    def __len__(self) -> int:
        return len(self._frames)

    def add(self, frame: bytes, now: float) -> bool:
        """Put a frame in; False if that would pass a limit, and the frame is lost as on the way.

        Half of the room for all is for peers for whom nothing waits yet: what is for the dead leaves it to them.
        """
        size = len(frame)
        together = MAX_BACKLOGS_BYTES // 2 if self._frames else MAX_BACKLOGS_BYTES
        if len(self._frames) >= MAX_BACKLOG or self.size + size > MAX_BACKLOG_BYTES or self._all.size + size > together:
            return False
        self._frames.append((now, frame))
        self._count(size)
        return True

    def first(self) -> tuple[float, bytes]:
        """The oldest frame, and when it was put in."""
        return self._frames[0]

    def last_at(self) -> float:
        """When the youngest frame was put in."""
        return self._frames[-1][0]

    def drop_first(self) -> None:
        """The oldest frame was sent, or is too old."""
        self._count(-len(self._frames.popleft()[1]))

    def clear(self) -> None:
        """Nothing of it will be sent any more."""
        self._frames.clear()
        self._count(-self.size)

    def _count(self, size: int) -> None:
        self.size += size
        self._all.size += size
