"""A process of a workload, heard without waiting: what it has said so far, and whether it has ended."""

from __future__ import annotations

import os
from collections.abc import Sequence

from broker.processes import ProcessFailed
from experiments.child import Child

CHUNK = 1 << 16


class Actor(Child):
    """One process of experiments/mininet/roles.py, on a host; `name` is what people call it."""

    def __init__(self, name: str, host: str, arguments: list[str]) -> None:
        super().__init__(["experiments.mininet.roles", *arguments])
        self.name = name
        self.host = host
        self.heard: dict[str, str] = {}
        """The last line of each kind: its first word, and what followed."""
        self._rest = b""
        assert self.process.stdout is not None
        os.set_blocking(self.process.stdout.fileno(), False)

    def listen(self) -> None:
        """Take in what it said since."""
        assert self.process.stdout is not None
        while chunk := self.process.stdout.read(CHUNK):
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            for line in lines:
                word, _, rest = line.decode().partition(" ")
                self.heard[word] = rest

    @property
    def ended(self) -> bool:
        """Whether it has ended, with all that it said taken in."""
        over = self.process.poll() is not None
        self.listen()
        return over

    def check(self) -> None:
        """Raises ProcessFailed when it has ended with another code than 0."""
        if self.ended and self.process.returncode != 0:
            why = self.complaint() or "no reason"
            raise ProcessFailed(f"{self.name} on {self.host} ended with exit code {self.process.returncode}: {why}")


def said(actors: Sequence[Actor], word: str) -> int:
    """How many have said a word."""
    for actor in actors:
        actor.listen()
    return sum(word in actor.heard for actor in actors)
