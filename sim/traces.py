"""Traces of a simulated run on disk: the layout of experiments/traces/run.py, the file format of chord/spool.py.

One writer for the whole cluster; times are virtual, the run having begun at 0; and no file holds anything that the
seed, the options and the commit do not decide, so two runs can be compared byte for byte.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from chord.trace import SCHEMA_VERSION, HeaderTrace

ROWS_PER_FILE = 100_000
BUFFERED_BYTES = 1 << 20
PROCESS = "sim"


class Traces:
    """Appends rows to `directory`/traces, and describes the run in `directory`/run.json."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._folder = directory / "traces"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._encode = msgspec.msgpack.Encoder().encode
        self._number = 0
        self._open()

    def append(self, row: msgspec.Struct) -> None:
        """Add one row."""
        if self._rows == ROWS_PER_FILE:
            self._finish()
            self._open()
        self._rows += 1
        self._pending += self._encode(row)
        if len(self._pending) >= BUFFERED_BYTES:
            self._flush()

    def close(self, run: dict[str, Any]) -> None:
        """Finish the files, and write `run` beside them as run.json."""
        self._finish()
        encoded = msgspec.json.format(msgspec.json.encode(run), indent=2)
        (self._directory / "run.json").write_bytes(encoded + b"\n")

    def _open(self) -> None:
        self._part = self._folder / f"{PROCESS}-{self._number:04d}.part"
        self._file = self._part.open("wb")
        self._number += 1
        self._rows = 0
        self._pending = bytearray(
            self._encode(HeaderTrace(schema=SCHEMA_VERSION, process=PROCESS, started_us=0)),
        )

    def _flush(self) -> None:
        self._file.write(self._pending)
        self._pending.clear()

    def _finish(self) -> None:
        self._flush()
        self._file.close()
        self._part.rename(self._part.with_suffix(".trace"))
