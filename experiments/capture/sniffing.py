"""tshark on the interfaces of some hosts, for as long as a run lasts."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path
from typing import Self

from broker.processes import ProcessFailed, end, start_program

FOLDER = "capture"
READY_S = 180.0
END_S = 60.0
POLL_S = 0.05
WRITTEN_S = 1.0
"""How long the last packets take to get from the kernel to the file."""


class Sniffing:
    """One tshark a host, each writing `capture/HOST.pcapng` below `directory`; ended when the block is left."""

    def __init__(self, directory: Path) -> None:
        self._folder = directory / FOLDER
        self._folder.mkdir(parents=True, exist_ok=True)
        self._running: dict[Path, subprocess.Popen[bytes]] = {}

    def start(self, host: str) -> None:
        """Capture on the host that the caller is inside of; its interface is called as Mininet does."""
        path = self._folder / f"{host}.pcapng"
        command = ["tshark", "-n", "-q", "-i", f"{host}-eth0", "-f", "tcp", "-w", str(path)]
        errors = (self._folder / f"{host}.err").open("wb")
        with errors:
            self._running[path] = start_program(command, subprocess.DEVNULL, errors.fileno())

    def wait_ready(self) -> None:
        """Wait until every one captures. Raises ProcessFailed."""
        deadline = time.monotonic() + READY_S
        while missing := [path for path in self._running if not path.exists() or not path.stat().st_size]:
            for path in missing:
                if self._running[path].poll() is not None or time.monotonic() > deadline:
                    said = path.with_suffix(".err").read_text(errors="replace").strip()
                    raise ProcessFailed(f"tshark did not begin to capture on {path.stem}: {said or 'it said nothing'}")
            time.sleep(POLL_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._finish()
        finally:
            for process in self._running.values():
                end(process)

    def _finish(self) -> None:
        """Have them write all they have seen."""
        time.sleep(WRITTEN_S)
        for process in self._running.values():
            process.send_signal(signal.SIGINT)
        deadline = time.monotonic() + END_S
        for process in self._running.values():
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                raise ProcessFailed("tshark did not end; its capture may lack packets") from None
