"""The demo's processes as the demo sees them: started, heard, told to begin and to end."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import msgspec

from broker.processes import ProcessFailed
from experiments.child import Child

END_S = 25.0


class Worker(Child):
    """One process of experiments/demo/workers.py; `heard` holds the last value that it told of each kind."""

    def __init__(self, label: str, part: str, what: str, how: str, traces: Path, via: list[str]) -> None:
        super().__init__(["experiments.demo.workers", part, what, how, str(traces), *via])
        self.label = label
        self.part = part
        self.what = what
        self.heard: dict[str, Any] = {}
        self.rate = 0.0
        self._rest = b""
        self._counted = (time.monotonic(), 0)
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
            code = self.process.returncode
            raise ProcessFailed(f"the {self.label} ended with exit code {code}: {self.complaint() or 'no reason'}")

    def end(self) -> None:
        """Ask it to end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
