"""A process of this command: told a line on its stdin, heard on its stdout, and on its stderr when it has failed."""

from __future__ import annotations

import subprocess
import tempfile

from broker.processes import end, start, write_line


class Child:
    """One `python -m ...`, until it is killed."""

    def __init__(self, arguments: list[str]) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as the process
        self.process = start(arguments, subprocess.PIPE, self._errors.fileno(), subprocess.PIPE)

    def begin(self) -> None:
        """Let it begin, if it waits for a line."""
        write_line(self.process)

    def kill(self) -> None:
        """End it at once."""
        end(self.process)
        self._errors.close()

    def complaint(self) -> str:
        """The last line of its standard error, if there is one."""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""
