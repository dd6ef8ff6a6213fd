"""A steady load of lookups from outside the ring: an open loop, so that a slow answer delays no later question."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chord.asking import Ring
from chord.errors import RingcastError
from chord.identifiers import IdentifierSpace
from chord.kernel import Kernel
from chord.lookup import Walk
from chord.sockets import make_context
from chord.tracing import Tracing
from chord.zmq_driver import ZmqDriver

PATIENCE_S = 5.0
TURN_S = 0.05


@dataclass(slots=True)
class Answer:
    """One lookup of a load. Times in seconds of the monotonic clock; `started_at` is when it was due."""

    key: int
    started_at: float
    ended_at: float = 0.0
    owner: int | None = None
    hops: int = 0
    error: str = ""


class LookupLoad:
    """Asks `rate` random names a second, in turn through each of `via`."""

    def __init__(self, via: list[str], rate: float, trace: Path | None = None) -> None:
        self._context = make_context()
        self._kernel = Kernel("ringcast", "lookups", random.Random())
        self._tracing = Tracing(trace, "lookups", "the lookups do not")
        self._driver = ZmqDriver(self._context, self._kernel, keep=self._tracing.append if self._tracing.on else None)
        self._rings = [Ring(self._kernel, [address], patience_s=PATIENCE_S) for address in via]
        self._space = IdentifierSpace()
        self._pause_s = 1.0 / rate
        self._under_way = 0
        self._count = 0
        self.answers: list[Answer] = []

    def run(self, seconds: float, until: Callable[[], bool] = lambda: False) -> None:
        """Ask for so long, or until `until()`; then wait for the answers that are due."""
        due = time.monotonic()
        end = due + seconds
        while (now := time.monotonic()) < end and not until():
            while due <= now:
                self._ask(due)
                due += self._pause_s
            self._driver.turn(min(TURN_S, max(0.0, due - time.monotonic())))
            self._tracing.flush_if_due()
        last = time.monotonic() + 2 * PATIENCE_S
        while self._under_way and time.monotonic() < last:
            self._driver.turn(TURN_S)

    def close(self) -> None:
        """Close the sockets and the traces."""
        self._driver.close()
        self._context.destroy(linger=0)
        self._tracing.close()

    def _ask(self, due: float) -> None:
        name = f"load/{self._kernel.rng.getrandbits(48):x}"
        answer = Answer(self._space.key(name), due)
        self.answers.append(answer)
        ring = self._rings[self._count % len(self._rings)]
        self._count += 1
        self._under_way += 1
        self._driver.start(ring.locate(name), lambda walk, error: self._ended(answer, walk, error))

    def _ended(self, answer: Answer, walk: Walk | Any, error: RingcastError | None) -> None:
        self._under_way -= 1
        answer.ended_at = time.monotonic()
        if error is not None or walk.owner is None:
            answer.error = str(error)
        else:
            answer.owner = walk.owner.id
            answer.hops = walk.hops


def wrong_owners(answers: list[Answer], before: list[int], after: list[int], killed_at: float) -> list[Answer]:
    """The answers that failed or named a wrong owner, judged by the members' identifiers before and after a kill.

    A lookup that was begun before the kill may have been under way at it, so it may name either owner.
    """
    wrong = []
    for answer in answers:
        right = {owner_among(after, answer.key)}
        if answer.started_at < killed_at:
            right.add(owner_among(before, answer.key))
        if answer.owner not in right:
            wrong.append(answer)
    return wrong


def owner_among(identifiers: list[int], key: int) -> int:
    """The first of these identifiers at or after the key, round the circle. Independent of the protocol code."""
    return min((identifier for identifier in identifiers if identifier >= key), default=min(identifiers))
