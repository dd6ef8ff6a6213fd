"""The client processes of a sweep as the sweep sees them: started, heard, told to begin, awaited."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from broker.processes import ProcessFailed, read_line
from experiments.child import Child

READY_S = 90.0
LATE_S = 30.0
"""How long after their time the last samples may come."""


@dataclass(frozen=True, slots=True)
class Work:
    """What all clients of a cell have in common: how samples travel, how many each, how many a second, and where to."""

    mode: str
    samples: int
    rate: float
    traces: Path
    via: list[str]


class Client(Child):
    """One process of experiments/sweep/roles.py."""

    def __init__(self, role: str, topic: str, work: Work) -> None:
        numbers = [str(work.samples), str(work.rate)]
        super().__init__(["experiments.sweep.roles", role, work.mode, topic, *numbers, str(work.traces), *work.via])
        self.topic = topic
        self._work = work
        self._name = f"the {work.mode} {role} of {topic}"

    def ready(self) -> str:
        """Its id, once it is ready."""
        return self._said("ready", READY_S)

    def got_all(self) -> None:
        """Wait until a subscriber has every sample."""
        wanted = self._work.samples
        got = self._said("got", wanted / self._work.rate + LATE_S)
        if got != str(wanted):
            raise ProcessFailed(f"{self._name} got {got} of {wanted} samples")

    def ended(self) -> None:
        """Wait until it has ended by itself, with its traces written."""
        try:
            code = self.process.wait(LATE_S)
        except subprocess.TimeoutExpired:
            raise ProcessFailed(f"{self._name} did not end within {LATE_S:.0f} s") from None
        if code != 0:
            raise ProcessFailed(f"{self._name} ended with exit code {code}: {self.complaint() or 'no reason'}")

    def _said(self, word: str, within_s: float) -> str:
        """What follows a word on its next line."""
        try:
            first, _, rest = read_line(self.process, within_s).partition(" ")
        except ProcessFailed:
            why = self.complaint() or f"it said nothing for {within_s:.0f} s, or ended without a word"
            raise ProcessFailed(f"{self._name} did not get as far as {word!r}: {why}") from None
        if first != word:
            raise ProcessFailed(f"{self._name} said {first!r}, not {word!r}")
        return rest


class Crew:
    """The clients of one cell, which end with it. A wait for one of them raises ProcessFailed when it is in vain."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._clients: list[Client] = []

    def start(self, role: str, topic: str) -> Client:
        """Start one process: a `publisher` or a `subscriber`."""
        client = Client(role, topic, self._work)
        self._clients.append(client)
        return client

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_unused: object) -> None:
        for client in self._clients:
            client.kill()
