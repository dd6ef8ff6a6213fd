"""The demo's processes as the demo sees them: started, heard, told to begin and to end."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec

from broker.processes import ProcessFailed, end, start, write_line

END_S = 25.0


class Worker:
    """One process of experiments/demo/workers.py; `heard` holds the last value that it told of each kind."""

    def __init__(self, label: str, part: str, what: str, how: str, traces: Path, via: list[str]) -> None:
        self.label = label
        self.part = part
        self.what = what
        self.heard: dict[str, Any] = {}
        self.rate = 0.0
        self._rest = b""
        self._counted = (time.monotonic(), 0)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as the process
        arguments = ["experiments.demo.workers", part, what, how, str(traces), *via]
        self.process = start(arguments, subprocess.PIPE, self._errors.fileno(), subprocess.PIPE)
        assert self.process.stdout is not None
        os.set_blocking(self.process.stdout.fileno(), False)

    @property
    def count(self) -> int:
        """Samples sent or received, or names asked, so far."""
        for kind in ("sent", "received", "asked"):
            if kind in self.heard:
                return int(self.heard[kind])
        return 0

    @property
    def ready(self) -> bool:
        """Whether it has told anything."""
        return bool(self.heard)

    @property
    def done(self) -> bool:
        """Whether it has told that it is done."""
        return bool(self.heard.get("done"))

    def listen(self) -> None:
        """Take in what it has told since the last time. Raises ProcessFailed when it has ended before it was done."""
        assert self.process.stdout is not None
        while data := self.process.stdout.read(65_536):
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                self.heard.update(msgspec.json.decode(line))
        now = time.monotonic()
        since, before = self._counted
        if now - since >= 1.0:
            self.rate = (self.count - before) / (now - since)
            self._counted = (now, self.count)
        if self.process.poll() is not None and not self.done:
            self._errors.seek(0)
            said = self._errors.read().decode(errors="replace").strip().splitlines()
            raise ProcessFailed(
                f"the {self.label} ended with exit code {self.process.returncode}: {said[-1] if said else 'no reason'}"
            )

    def begin(self) -> None:
        """Let a publisher begin."""
        write_line(self.process)

    def end(self) -> None:
        """Ask it to end."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def kill(self) -> None:
        """End it at once."""
        end(self.process)
        self._errors.close()
