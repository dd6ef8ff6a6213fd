"""The client processes of a cell as the cell sees them: started, heard, told to begin, awaited."""

from __future__ import annotations

import select
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

import msgspec

from broker.processes import ProcessFailed, read_line
from experiments.child import Child
from experiments.sweep.cells import Cell
from experiments.sweep.roles import Role

READY_S = 90.0
LATE_S = 30.0
"""How long after their time the last samples may come."""

ENDED_S = 15.0
LOOK_S = 0.5


class Client(Child):
    """One process of experiments/sweep/roles.py."""

    def __init__(self, role: Role) -> None:
        super().__init__(["experiments.sweep.roles", msgspec.json.encode(role).decode()])
        self.role = role
        self._name = f"the {role.dissemination} {role.role} of {role.topic}"

    @property
    def stdout(self) -> IO[bytes]:
        """Where it says what it has to say."""
        assert self.process.stdout is not None
        return self.process.stdout

    def ready(self) -> str:
        """Its id, once it is ready."""
        return self._said("ready", READY_S)

    def got(self, within_s: float) -> int:
        """How many samples a subscriber got, once it says so."""
        return int(self._said("got", within_s))

    def ended(self, within_s: float = LATE_S) -> None:
        """Wait until it has ended by itself, with its traces written."""
        try:
            code = self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            raise ProcessFailed(f"{self._name} did not end within {within_s:.0f} s") from None
        if code != 0:
            raise ProcessFailed(f"{self._name} ended with exit code {code}: {self.complaint() or 'no reason'}")

    def missing(self, got: int) -> ProcessFailed:
        """What to raise for a subscriber that got too little."""
        return ProcessFailed(f"{self._name} got {got} of {self.role.expected} samples")

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

    def __init__(self, cell: Cell, traces: Path, via: list[str]) -> None:
        self._cell = cell
        self._traces = str(traces)
        self._via = via
        self.publishers: list[Client] = []
        self.subscribers: list[Client] = []

    def start_subscribers(self) -> list[str]:
        """Their ids, once they are ready."""
        cell = self._cell
        for number in range(cell.subscribers):
            topic = cell.topic(number)
            expected = cell.samples * cell.publishers_of(topic)
            self.subscribers.append(Client(self._role("subscriber", topic, expected=expected)))
        return [client.ready() for client in self.subscribers]

    def start_publishers(self) -> None:
        """Once they are ready, with every subscriber of theirs."""
        cell = self._cell
        for number in range(cell.publishers):
            topic = cell.topic(number)
            role = self._role(
                "publisher",
                topic,
                samples=cell.samples,
                rate=cell.rate,
                payload_bytes=cell.payload_bytes,
                readers=cell.subscribers_of(topic),
            )
            self.publishers.append(Client(role))
        for client in self.publishers:
            client.ready()

    def share(self, meanwhile: Callable[[], float | None], told: Callable[[int, int], None]) -> int:
        """Have all samples published and received; returns how many did not come, which is 0 unless there are faults.

        `meanwhile` is called about twice a second, and when it last said in how many seconds it has to be. Raises
        ProcessFailed when samples are missing of a cell without faults.
        """
        cell = self._cell
        for client in self.publishers:
            client.begin()
        waiting = {client.stdout: client for client in self.subscribers}
        deadline = time.monotonic() + cell.samples / cell.rate + LATE_S
        lost = 0
        while waiting:
            due_s = meanwhile()
            pause_s = LOOK_S if due_s is None else min(due_s, LOOK_S)
            for stream in select.select(list(waiting), [], [], pause_s)[0]:
                lost += self._heard(waiting.pop(stream), LATE_S)
                told(cell.subscribers - len(waiting), cell.subscribers)
            if time.monotonic() > deadline:
                for client in waiting.values():
                    client.begin()  # it says what it has
                lost += sum(self._heard(client, ENDED_S) for client in waiting.values())
                break
        for client in (*self.publishers, *self.subscribers):
            client.ended()
        return lost

    def _heard(self, client: Client, within_s: float) -> int:
        """How many samples a subscriber lacks."""
        got = client.got(within_s)
        if got != client.role.expected and not self._cell.faults:
            raise client.missing(got)
        return client.role.expected - got

    def _role(self, role: str, topic: str, **numbers: int | float) -> Role:
        return msgspec.convert(
            {
                "role": role,
                "dissemination": self._cell.dissemination,
                "topic": topic,
                "traces": self._traces,
                "via": self._via,
                **numbers,
            },
            Role,
        )

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_unused: object) -> None:
        for client in (*self.publishers, *self.subscribers):
            client.kill()
