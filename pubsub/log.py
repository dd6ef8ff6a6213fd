"""The log of one topic at its publisher: the batches that somebody may still ask for, in order."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from operator import attrgetter

import msgspec


class Logged(msgspec.Struct, frozen=True, gc=False):
    """A batch in the log. Weights count every sample of the topic from the first on, dropped ones too."""

    first: int
    last: int
    frame: bytes | bytearray
    start_weight: int
    end_weight: int

    @property
    def weight(self) -> int:
        """What this batch alone weighs."""
        return self.end_weight - self.start_weight


_last = attrgetter("last")


class Log:
    """Batches numbered from 0 on; those below `base` have been dropped. It begins with the sample after `after`."""

    def __init__(self, after: int = 0) -> None:
        self.base = 0
        self.next_sequence = after + 1
        self.weight = 0
        self._batches: list[Logged] = []

    @property
    def end(self) -> int:
        """The number that the next batch will have."""
        return self.base + len(self._batches)

    @property
    def first_sequence(self) -> int:
        """The first sample still there, or the next one when there is none."""
        return self._batches[0].first if self._batches else self.next_sequence

    @property
    def start_weight(self) -> int:
        """The weight of everything dropped."""
        return self._batches[0].start_weight if self._batches else self.weight

    def append(self, frame: bytes | bytearray, count: int, weight: int, first: int | None = None) -> Logged:
        """Add a batch of the next `count` samples; of those from `first` on, when some before it never came."""
        first = self.next_sequence if first is None else first
        logged = Logged(first, first + count - 1, frame, self.weight, self.weight + weight)
        self._batches.append(logged)
        self.next_sequence = first + count
        self.weight = logged.end_weight
        return logged

    def mend(self) -> None:
        """Finish an `append` that an interrupt broke off: its batch is in, or it is not."""
        if self._batches:
            self.next_sequence = self._batches[-1].last + 1
            self.weight = self._batches[-1].end_weight

    def __getitem__(self, number: int) -> Logged:
        """A batch by its number, which must be neither dropped nor to come."""
        if not self.base <= number < self.end:
            raise IndexError(f"batch {number} is not among {self.base} to {self.end - 1}")
        return self._batches[number - self.base]

    def number_of(self, sequence: int) -> int:
        """The number of the batch that holds a sample; of the first batch for a dropped one, `end` for one to come."""
        return self.base + bisect_left(self._batches, sequence, key=_last)

    def after(self, sequence: int) -> int:
        """What the next sample there is comes right after, for a reader that has those up to `sequence`."""
        number = self.number_of(sequence + 1)
        return max(sequence, self._batches[number - self.base].first - 1) if number < self.end else sequence

    def __iter__(self) -> Iterator[Logged]:
        return iter(self._batches)

    def trim(self, keep_from: int) -> None:
        """Drop every batch of which no sample has sequence `keep_from` or more."""
        dropped = bisect_left(self._batches, keep_from, key=_last)
        if dropped:
            del self._batches[:dropped]
            self.base += dropped

    def first_above(self, weight: int) -> int:
        """The first sequence of the oldest batch that reaches above a weight."""
        index = bisect_left(self._batches, weight + 1, key=attrgetter("end_weight"))
        return self._batches[index].first if index < len(self._batches) else self.next_sequence
