"""Traffic through zones: publishers that never stop, subscribers that note all they get, and what must have come."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from types import TracebackType

from pubsub.client import Publisher, Subscriber
from tests.waiting import eventually

PACE_S = 0.002
LOOK_S = 0.1
PATIENCE_S = 20.0
STANDS_STILL_S = 1.0


class Reading:
    """A subscriber and a thread that takes what it gets: sequences and zone epochs, each publisher's by itself."""

    def __init__(self, subscriber: Subscriber) -> None:
        self.subscriber = subscriber
        self.sequences: dict[str, list[int]] = defaultdict(list)
        self.epochs: dict[str, list[int]] = defaultdict(list)
        self.error: BaseException | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                samples = self.subscriber.receive_batch(LOOK_S)
                if samples:
                    arrived = self.subscriber._arrived
                    assert arrived is not None
                    publisher = samples[0].publisher
                    assert all(int(sample.payload) == sample.sequence for sample in samples)
                    self.epochs[publisher].append(arrived.batch.zone_epoch)
                    self.sequences[publisher].extend(sample.sequence for sample in samples)
        except BaseException as error:
            self.error = error

    def last(self, publisher: str) -> int:
        """The newest sample of a publisher."""
        taken = self.sequences.get(publisher)
        return taken[-1] if taken else 0

    def stop(self) -> None:
        """Take nothing more."""
        self._stop.set()
        self._thread.join()


class Writing:
    """A publisher and a thread that publishes numbers with it, each followed by so many blanks."""

    def __init__(self, publisher: Publisher, topic: str, pace_s: float = PACE_S, padding: int = 0) -> None:
        self.publisher = publisher
        self.count = 0
        self.error: BaseException | None = None
        self._topic = topic
        self._pace_s = pace_s
        self._padding = b" " * padding
        self._waiting_since: float | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            while not self._stop.wait(self._pace_s):
                self._waiting_since = time.monotonic()
                self.publisher.publish(self._topic, b"%d%b" % (self.count + 1, self._padding))
                self._waiting_since = None
                self.count += 1
        except BaseException as error:
            self.error = error

    def stands_still(self) -> bool:
        """Whether one sample has waited for room for longer than passes unnoticed."""
        since = self._waiting_since
        return since is not None and time.monotonic() - since > STANDS_STILL_S

    def stop(self) -> None:
        """Publish nothing more."""
        self._stop.set()
        self._thread.join()

    def __enter__(self) -> Writing:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class Traffic:
    """Every publisher publishes all the time, and every subscriber takes what comes, until the end of the block.

    At its end all of it must have come to each, once, in order, and with zone epochs that never fell.
    """

    def __init__(
        self, topic: str, publishers: list[Publisher], subscribers: list[Subscriber], pace_s: float = PACE_S
    ) -> None:
        self.readings = [Reading(subscriber) for subscriber in subscribers]
        self.writings = [Writing(publisher, topic, pace_s) for publisher in publishers]

    def flows(self, timeout_s: float = PATIENCE_S) -> None:
        """Wait until each subscriber has got something of each publisher that was published after this was called."""
        marks = [(writing.publisher.id, writing.count + 2) for writing in self.writings]

        def done() -> bool:
            for each in (*self.readings, *self.writings):
                if each.error is not None:
                    raise each.error
            return all(reading.last(publisher) >= mark for reading in self.readings for publisher, mark in marks)

        eventually(done, timeout_s, f"samples beyond {marks} at each subscriber")

    def epochs(self) -> list[int]:
        """The zone epochs of all batches that any subscriber took, in order."""
        return sorted({epoch for reading in self.readings for each in reading.epochs.values() for epoch in each})

    def finish(self) -> None:
        """Stop publishing, have everything delivered, and judge it."""
        for writing in self.writings:
            writing.stop()
        for writing in self.writings:
            if writing.error is not None:
                raise writing.error
            writing.publisher.flush(PATIENCE_S)
        for reading in self.readings:
            for writing in self.writings:
                identity, count = writing.publisher.id, writing.count
                eventually(
                    lambda reading=reading, identity=identity, count=count: reading.last(identity) >= count,
                    PATIENCE_S,
                    f"all {count} samples of {identity}, of which {reading.last(identity)} came,",
                )
                taken = reading.sequences[identity]
                assert taken == list(range(1, count + 1)), _out_of_order(taken)
                epochs = reading.epochs[identity]
                assert epochs == sorted(epochs), f"zone epochs fell: {epochs}"
            assert reading.subscriber.lost == 0
            assert reading.error is None

    def __enter__(self) -> Traffic:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self.finish()
        finally:
            for each in (*self.writings, *self.readings):
                each.stop()


def _out_of_order(taken: list[int]) -> str:
    for index, (one, other) in enumerate(zip([0, *taken], taken, strict=False)):
        if other != one + 1:
            return f"after {one} came {other}, the sample number {index} of {len(taken)}"
    return "more samples came than were published"
