"""The CSV files that `ringcast sub` leaves: a row a sample."""

from __future__ import annotations

import csv
import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from chord.errors import LocalProtocolError
from pubsub.sample import Sample

Keep = Callable[[list[Sample]], None]
Row = Callable[[Sample], tuple[object, ...]]

OURS = ("publisher", "topic", "sequence", "latency_us")
THEIRS = ("publisher", "topic", "total_time_seconds")
"""As other publish/subscribe frameworks write it, whose scripts then read ours: docs/seed-001.md."""


def row_of_ours(sample: Sample) -> tuple[object, ...]:
    """A row under OURS."""
    return sample.publisher, sample.topic, sample.sequence, sample.received_us - sample.published_us


def row_of_theirs(sample: Sample) -> tuple[object, ...]:
    """A row under THEIRS."""
    return sample.publisher, sample.topic, f"{(sample.received_us - sample.published_us) / 1e6:.6f}"


@contextmanager
def keeping(path: Path, header: tuple[str, ...], row: Row) -> Iterator[Keep]:
    """What writes samples to a CSV file. Raises LocalProtocolError for a path that no file can be made at.

    What was handed over is in the file when the process is killed.
    """
    try:
        number = _open_alone(path)
    except OSError as error:
        raise LocalProtocolError(f"cannot write {path}: {error.strerror}") from None
    file = os.fdopen(number, "w", newline="", encoding="utf-8")
    writer = csv.writer(file, lineterminator="\n")

    def keep(samples: list[Sample]) -> None:
        with _naming(path):
            writer.writerows(map(row, samples))
            file.flush()

    try:
        writer.writerow(header)
        yield keep
    finally:
        with _naming(path):
            file.close()


def _open_alone(path: Path) -> int:
    """Open a file that nobody else writes to, and empty it only then. What is no file, as a pipe, may be shared."""
    number = os.open(path, os.O_WRONLY | os.O_CREAT, 0o666)
    try:
        if stat.S_ISREG(os.fstat(number).st_mode):
            _lock(number)
            os.truncate(number, 0)
    except OSError:
        os.close(number)
        raise
    return number


def _lock(number: int) -> None:
    """Lock a file for as long as it is open, where its file system can."""
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise BlockingIOError(error.errno, "another process writes to it") from None
    except OSError:
        return


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Writing to a file that is open already: errors of it name the file, which they do not of themselves."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.filename = str(path)
        raise
