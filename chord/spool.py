"""Trace spools: files of concatenated MessagePack rows, one writer a process.

A file grows under the name `*.part` and is renamed to `*.trace` when it is full or closed, so that a reader of a
running directory sees whole files. A killed process leaves its last `*.part`, which ends at its last flush.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from chord.errors import LocalProtocolError
from chord.trace import SCHEMA_VERSION, HeaderTrace

ROWS_PER_FILE = 100_000
FLUSH_BYTES = 64 * 1024
FLUSH_SECONDS = 0.5


class Spool:
    """Appends trace rows to files in `directory`. Not for use from two threads.

    Raises LocalProtocolError when the directory or the first file cannot be made.
    """

    def __init__(self, directory: Path | str, process: str) -> None:
        self._directory = Path(directory)
        self._process = process
        self._encode = msgspec.msgpack.Encoder().encode
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._flushed_at = time.monotonic()
        self._number = 0
        self._rows = 0
        self._part: Path | None = None
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            self._open()
        except OSError as error:
            raise LocalProtocolError(f"traces cannot be left in {self._directory}: {error.strerror}") from None

    def append(self, row: msgspec.Struct) -> None:
        """Add one row; it reaches the file within 0.5 s of the next `append` or `flush_if_due`."""
        encoded = self._encode(row)
        self._pending.append(encoded)
        self._pending_bytes += len(encoded)
        self._rows += 1
        if self._pending_bytes >= FLUSH_BYTES or self._rows >= ROWS_PER_FILE:
            self.flush()
            if self._rows >= ROWS_PER_FILE:
                self._finish()
                self._open()

    def flush_if_due(self) -> None:
        """Flush when the last flush is 0.5 s or more ago."""
        if self._pending and time.monotonic() - self._flushed_at >= FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Hand every row to the operating system."""
        self._file.write(b"".join(self._pending))
        self._file.flush()
        self._pending.clear()
        self._pending_bytes = 0
        self._flushed_at = time.monotonic()

    def close(self) -> None:
        """Flush, and give the file its final name. Closing twice is harmless."""
        if self._part is not None:
            self.flush()
            self._finish()

    def abandon(self) -> None:
        """Let go of a file that cannot be written any more; it keeps its name and what reached it."""
        self._part = None
        with suppress(OSError):
            self._file.close()

    def _open(self) -> None:
        name = f"{self._process.replace('/', '_').replace(':', '_')}-{os.getpid()}-{self._number:04d}.part"
        self._number += 1
        self._rows = 0
        self._part = self._directory / name
        self._file = self._part.open("wb")
        header = HeaderTrace(schema=SCHEMA_VERSION, process=self._process, started_us=time.time_ns() // 1000)
        self._pending.append(self._encode(header))

    def _finish(self) -> None:
        self._file.close()
        assert self._part is not None
        self._part.rename(self._part.with_suffix(".trace"))
        self._part = None
