"""Rounds on several rings at once, each ring with a process of its own that plays it."""

from __future__ import annotations

import selectors
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from typing import Self

import msgspec

from broker.processes import ProcessFailed
from experiments.child import Child
from experiments.rings.outcome import Options, Outcome

ENDED_WITHIN_S = 5.0
SILENT_FOR_S = 300.0
"""No round takes so long."""


def shares(options: Options, jobs: int) -> list[Options]:
    """The rounds of each ring: as many as the others or one more, in a row."""
    found = []
    first = options.first
    for job in range(jobs):
        rounds = options.rounds // jobs + (job < options.rounds % jobs)
        if rounds:
            found.append(msgspec.structs.replace(options, first=first, rounds=rounds))
        first += rounds
    return found


class SideBySide:
    """Plays `jobs` rings; iterate over the outcomes as they come. Use it in a `with` block, whose end ends them."""

    def __init__(self, options: Options, jobs: int) -> None:
        self._shares = shares(options, jobs)
        self._jobs: list[_Job] = []

    def __enter__(self) -> Self:
        for share in self._shares:
            self._jobs.append(_Job(share))
        return self

    def __exit__(self, *_: object) -> None:
        for job in self._jobs:
            job.process.terminate()
        for job in self._jobs:
            with suppress(subprocess.TimeoutExpired):
                job.process.wait(ENDED_WITHIN_S)
            job.kill()

    def __iter__(self) -> Iterator[Outcome]:
        """Raises ProcessFailed when a job ends early, or says nothing for long."""
        with selectors.DefaultSelector() as selector:
            for job in self._jobs:
                selector.register(job.output, selectors.EVENT_READ, job)
            while selector.get_map():
                ready = selector.select(SILENT_FOR_S)
                if not ready:
                    raise ProcessFailed(f"no round has ended within {SILENT_FOR_S:.0f} s")
                for key, _ in ready:
                    yield from key.data.read()
                    if key.data.ended:
                        selector.unregister(key.fileobj)


class _Job(Child):
    """One ring, and what it still has to say."""

    def __init__(self, share: Options) -> None:
        super().__init__(["experiments.rings.rounds_job", msgspec.json.encode(share).decode()])
        assert self.process.stdout is not None
        self.output = self.process.stdout
        self.ended = False
        self._left = share.rounds
        self._rest = b""

    def read(self) -> list[Outcome]:
        data = self.output.read(1 << 16)
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._left -= len(lines)
        if not data:
            self.ended = True
            if self._left:
                why = self.complaint() or "no reason given"
                raise ProcessFailed(f"a ring ended {self._left} rounds early: {why}")
        return [msgspec.json.decode(line, type=Outcome) for line in lines]
