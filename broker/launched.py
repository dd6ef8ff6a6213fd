"""Commands of Ringcast that run until they are ended, as processes whose first line says that they are ready."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen
from types import TracebackType
from typing import Generic, Self, TypeVar

from broker.processes import READY_S, ProcessFailed, end, start
from broker.scratch import Scratch

POLL_S = 0.01
STOP_S = 5.0


@dataclass
class Launched:
    """One process; `ready` holds the words of its first line once it has said that it is ready."""

    process: Popen[bytes]
    output: Path
    errors: Path
    ready: list[str] = field(default_factory=list)

    def look(self) -> bool:
        """Whether it is ready. Raises ProcessFailed when it has ended instead."""
        if self.ready:
            return True
        line = self.output.read_text().partition("\n")
        if line[1] and line[0].startswith("ready "):
            self.ready = line[0].split()
            return True
        if self.process.poll() is not None:
            said = self.errors.read_text().strip() or "nothing"
            command = " ".join(map(str, list(self.process.args)[2:4]))  # type: ignore[arg-type]  # a list of words
            raise ProcessFailed(f"{command} ended with exit code {self.process.returncode} and said: {said}")
        return False

    def word(self, name: str) -> str:
        """What follows `name=` in its first line; empty until it is ready."""
        return next((each.removeprefix(f"{name}=") for each in self.ready if each.startswith(f"{name}=")), "")

    @property
    def address(self) -> str:
        """Where it is reached; empty until it is ready."""
        return self.ready[1] if self.ready else ""


P = TypeVar("P", bound=Launched)


class Group(Generic[P]):
    """Processes of one kind. What they say goes to files, which are gone with the group."""

    def __init__(self) -> None:
        self.members: list[P] = []
        self._folder = Scratch()
        self._count = 0

    def run(self, kind: type[P], arguments: Sequence[str]) -> P:
        """Start one process without waiting for it."""
        folder = self._folder.path
        output, errors = folder / f"{self._count}.out", folder / f"{self._count}.err"
        self._count += 1
        with output.open("wb") as out, errors.open("wb") as err:
            process = start(list(arguments), out.fileno(), err.fileno())
        launched = kind(process, output, errors)
        self.members.append(launched)
        return launched

    def look(self) -> None:
        """Take note of which have become ready. Raises ProcessFailed when one has ended instead."""
        for launched in self.members:
            launched.look()

    def wait_ready(self, wanted: Sequence[P] | None = None, timeout_s: float = READY_S) -> None:
        """Wait until these are ready, or all. Raises ProcessFailed."""
        awaited = self.members if wanted is None else wanted
        deadline = time.monotonic() + timeout_s
        while sum(launched.look() for launched in awaited) < len(awaited):  # every one is looked at each time
            if time.monotonic() > deadline:
                missing = sum(not launched.ready for launched in awaited)
                raise ProcessFailed(f"{missing} of {len(awaited)} processes were not ready within {timeout_s:.0f} s")
            time.sleep(POLL_S)

    def kill(self, launched: P) -> None:
        """kill -9."""
        end(launched.process)
        self.members.remove(launched)

    def terminate(self, launched: P) -> int:
        """SIGTERM, upon which it leaves gracefully; returns its exit code."""
        launched.process.terminate()
        code = launched.process.wait(STOP_S)
        self.members.remove(launched)
        return code

    def close(self) -> None:
        """kill -9 every one."""
        for launched in self.members:
            launched.process.kill()
        for launched in self.members:
            end(launched.process)
        self.members.clear()
        self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
