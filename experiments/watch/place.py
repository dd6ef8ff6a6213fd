"""The folder `OUT/watch`: what it was begun with, which a restart has to keep, and who works in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from chord.errors import LocalProtocolError
from experiments.folders import alone, made
from experiments.traces.damaged import Damaged, counted_anew
from experiments.watch import windows

WATCH = "watch"
CHECKPOINT = "checkpoint"
SETTINGS_FILE = "watch.json"
LEFT_OUT_FILE = "left-out.json"
VERSION = 1
NOTES = {"metadata": b"{", "offsets/[0-9]*": b"v1\n", "commits/[0-9]*": b"v1\n", "sources/*/[0-9]*": b"v1\n"}
"""What Spark keeps in its checkpoint beside its state, and how each of these files begins."""


class Settings(msgspec.Struct, kw_only=True, frozen=True):
    """What the folder was begun with."""

    version: int = VERSION
    window_us: int


class LeftOut(msgspec.Struct, kw_only=True):
    """Rows that the stream passed over up to a batch: behind the watermark, and those it had seen before."""

    batch: int = -1
    late: int = 0
    twice: int = 0

    def save(self, place: Path) -> None:
        """Replace the file, whole or not at all."""
        fresh = place / f".{LEFT_OUT_FILE}.new"
        fresh.write_bytes(msgspec.json.encode(self))
        fresh.replace(place / LEFT_OUT_FILE)


def left_out(place: Path) -> LeftOut:
    """What was left out so far."""
    try:
        return msgspec.json.decode((place / LEFT_OUT_FILE).read_bytes(), type=LeftOut)
    except (OSError, msgspec.DecodeError):
        return LeftOut()


@contextmanager
def held(place: Path) -> Iterator[int]:
    """Make the folder and hold its lock; yields the lock's descriptor, for processes that hold it as well.

    Raises LocalProtocolError if another watch holds it; one that was killed is waited for until its Java has ended.
    """
    with alone(made(place), "watch", "end it, or give another --out") as lock:
        yield lock


def keep(place: Path, settings: Settings) -> None:
    """Note what the folder is begun with, or check that it was begun so. Raises LocalProtocolError or Damaged."""
    path = place / SETTINGS_FILE
    anew = f"give another --out, or {counted_anew(place)}"
    if not path.exists():
        fresh = place / f".{SETTINGS_FILE}.new"
        fresh.write_bytes(msgspec.json.encode(settings))
        fresh.replace(path)
    try:
        before = msgspec.json.decode(path.read_bytes(), type=Settings)
    except msgspec.DecodeError as error:
        raise LocalProtocolError(f"{path} cannot be read ({error}); {anew}") from None
    if before.version != VERSION:
        raise LocalProtocolError(f"{place} is of version {before.version}, this is {VERSION}; {anew}")
    if before.window_us != settings.window_us:
        was, now = before.window_us / 1e6, settings.window_us / 1e6
        raise LocalProtocolError(
            f"{place} holds windows of {was:g} s, not {now:g} s; --window {was:g} goes on, or {anew}"
        )
    if any((place / CHECKPOINT / "offsets").glob("*")):
        _check(place)
        return
    (place / LEFT_OUT_FILE).unlink(missing_ok=True)
    if any((place / windows.FOLDER).glob("*.parquet")):
        raise LocalProtocolError(f"{place} holds windows without the {CHECKPOINT} that they belong to; {anew}")


def _check(place: Path) -> None:
    """Raise Damaged for a note of Spark's that does not begin as it should, which no later start would get past."""
    for notes, beginning in NOTES.items():
        for path in sorted((place / CHECKPOINT).glob(notes)):
            if not path.read_bytes().startswith(beginning):
                raise Damaged(f"{path} is damaged; {counted_anew(place)}")
