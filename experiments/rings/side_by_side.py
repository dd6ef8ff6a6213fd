"""Rounds on several rings at once, each ring with a process of its own that plays it."""

from __future__ import annotations

import selectors
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from types import TracebackType
from typing import IO, Self

import msgspec

from broker.processes import ProcessFailed, end, start
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
        self._jobs: list[tuple[subprocess.Popen[bytes], IO[bytes]]] = []

    def __enter__(self) -> Self:
        for share in self._shares:
            errors = tempfile.TemporaryFile()  # lives as long as the process
            arguments = ["experiments.rings.rounds_job", msgspec.json.encode(share).decode()]
            self._jobs.append((start(arguments, subprocess.PIPE, errors.fileno()), errors))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process, _ in self._jobs:
            process.terminate()
        for process, errors in self._jobs:
            with suppress(subprocess.TimeoutExpired):
                process.wait(ENDED_WITHIN_S)
            end(process)
            errors.close()

    def __iter__(self) -> Iterator[Outcome]:
        """Raises ProcessFailed when a job ends early, or says nothing for long."""
        with selectors.DefaultSelector() as selector:
            for share, (process, errors) in zip(self._shares, self._jobs, strict=True):
                assert process.stdout is not None
                selector.register(process.stdout, selectors.EVENT_READ, _Job(share.rounds, process.stdout, errors))
            while selector.get_map():
                ready = selector.select(SILENT_FOR_S)
                if not ready:
                    raise ProcessFailed(f"no round has ended within {SILENT_FOR_S:.0f} s")
                for key, _ in ready:
                    yield from key.data.read()
                    if key.data.ended:
                        selector.unregister(key.fileobj)


class _Job:
    """What one process still has to say."""

    def __init__(self, rounds: int, output: IO[bytes], errors: IO[bytes]) -> None:
        self.ended = False
        self._left = rounds
        self._output = output
        self._errors = errors
        self._rest = b""

    def read(self) -> list[Outcome]:
        data = self._output.read(1 << 16)
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._left -= len(lines)
        if not data:
            self.ended = True
            if self._left:
                self._errors.seek(0)
                said = self._errors.read().decode(errors="replace").strip().splitlines()
                raise ProcessFailed(
                    f"a ring ended {self._left} rounds early: {said[-1] if said else 'no reason given'}"
                )
        return [msgspec.json.decode(line, type=Outcome) for line in lines]
