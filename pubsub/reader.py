"""A reader as its publisher sees it: what it was sent, has received, and has taken."""

from __future__ import annotations

from collections import deque

from pubsub.limits import WINDOW_BATCHES, WINDOW_BYTES
from pubsub.log import Log, Logged
from pubsub.profile import Profile
from pubsub.zones import zone_of


class Reader:
    """One subscriber of one topic. It was sent the batches before `number`, and has the samples up to `received`.

    A zone has what every broker in sync has; what only its primary has is on its way no more, and kept all the same.
    """

    def __init__(self, name: str, route: bytes, stream: int, requested: Profile, now: float) -> None:
        self.name = name
        self.route = route
        self.stream = stream
        self.readers = 0 if zone_of(name) else 1
        """Subscribers that it stands for, as far as it has said."""
        self.epoch = 0
        """Of the zone that it is, if it is one."""
        self.reliable = requested.reliability == "at_least_once"
        self.began = 0
        self.number = 0
        self.received = 0
        self.received_weight = 0
        self.heard_at = now
        self.detached_at: float | None = None
        self._on_its_way: deque[Logged] = deque()
        self._unreceived: deque[Logged] = deque()
        self._untaken: deque[tuple[int, int]] = deque()
        self._untaken_weight = 0

    @property
    def has_room(self) -> bool:
        """Whether its window takes another batch."""
        return (
            self.detached_at is None
            and len(self._on_its_way) < WINDOW_BATCHES
            and (self._untaken_weight < WINDOW_BYTES or not self._untaken)
        )

    def rewind(self, log: Log, after: int, safe: int) -> None:
        """Begin again with the sample after `after`; what follows `safe` is not to be forgotten yet."""
        self.number = log.number_of(after + 1)
        self.received = safe
        at = log.number_of(safe + 1)
        self.received_weight = log[at].start_weight if log.base <= at < log.end else log.weight
        self._on_its_way.clear()
        self._unreceived.clear()
        self._unreceived.extend(log[number] for number in range(at, self.number))
        while self._untaken and self._untaken[-1][0] > after:
            self._untaken_weight -= self._untaken.pop()[1]

    def sent(self, batch: Logged) -> None:
        """A batch went out to it."""
        self.number += 1
        self._on_its_way.append(batch)
        self._unreceived.append(batch)
        self._untaken.append((batch.last, batch.weight))
        self._untaken_weight += batch.weight

    def acknowledge(self, received: int, taken: int, safe: int) -> None:
        """It said how far it is."""
        while self._on_its_way and self._on_its_way[0].last <= received:
            self._on_its_way.popleft()
        while self._unreceived and self._unreceived[0].last <= safe:
            batch = self._unreceived.popleft()
            self.received = batch.last
            self.received_weight = batch.end_weight
        while self._untaken and self._untaken[0][0] <= taken:
            self._untaken_weight -= self._untaken.popleft()[1]
