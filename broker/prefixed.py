"""Standard error of one of several clients: each line says whose it is."""

from __future__ import annotations

import io
from typing import TextIO


class Prefixed(io.TextIOBase):
    """Writes lines to a stream in one piece, each behind a prefix, once they are whole."""

    def __init__(self, stream: TextIO, prefix: str) -> None:
        self._stream = stream
        self._prefix = prefix
        self._begun = ""

    def write(self, text: str) -> int:
        """Write the lines that are whole, and keep the beginning of the next one."""
        *lines, self._begun = (self._begun + text).split("\n")
        if lines:
            self._stream.write("".join(f"{self._prefix}{line}\n" for line in lines))
        return len(text)

    def flush(self) -> None:
        """Write out what is whole."""
        self._stream.flush()

    def fileno(self) -> int:
        """The descriptor of the stream."""
        return self._stream.fileno()
