"""The traces of one process, which must not be in the way of its work: when they cannot be written, they end."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

import msgspec

from chord.spool import Spool


class Tracing:
    """Keeps rows in a spool for as long as that goes well. `on` says whether rows are kept (any more).

    Without a directory nothing is kept. Raises LocalProtocolError when the first file cannot be made. `rest` is what
    goes on when the traces end.
    """

    def __init__(self, directory: Path | str | None, name: str, rest: str) -> None:
        self._name = name
        self._rest = rest
        self._spool = Spool(directory, name) if directory is not None else None

    @property
    def on(self) -> bool:
        """Whether rows are kept."""
        return self._spool is not None

    def append(self, row: msgspec.Struct) -> None:
        """Keep a row."""
        if self._spool is not None:
            try:
                self._spool.append(row)
            except OSError as error:
                self._end(self._spool, error)

    def flush_if_due(self) -> None:
        """Hand rows to the operating system now and then."""
        if self._spool is not None:
            try:
                self._spool.flush_if_due()
            except OSError as error:
                self._end(self._spool, error)

    def close(self) -> None:
        """Give the last file its final name."""
        if self._spool is not None:
            try:
                self._spool.close()
            except OSError as error:
                self._end(self._spool, error)

    def _end(self, spool: Spool, error: OSError) -> None:
        self._spool = None
        spool.abandon()
        with suppress(OSError):  # it may lie on the same disk
            sys.stderr.write(f"warning: the traces of {self._name} end here: {error.strerror or error}; {self._rest}\n")
