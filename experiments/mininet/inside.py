"""The process that is first in the namespaces of one run. What it starts, and all of its network, ends with it.

    python -m experiments.mininet.inside DIRECTORY      with the cell and its shape as JSON on stdin

It prints JSON lines: `["going on", done, total]` now and then, and in the end `{"info": ...}` or `{"error": ...}`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec

from chord.errors import LocalProtocolError, RingcastError
from experiments.mininet.course import play
from experiments.mininet.shaping import Shape
from experiments.sweep.cells import Cell
from experiments.traces.run import RunInfo

TELL_S = 0.2


class Task(msgspec.Struct):
    """What is to be played."""

    cell: Cell
    shape: Shape


class Ended(msgspec.Struct, kw_only=True, omit_defaults=True):
    """How it ended: with what run.json says, or an error; `usage` if that was asked for something impossible."""

    info: RunInfo | None = None
    error: str | None = None
    usage: bool = False


def main() -> None:
    """Play what stdin says."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for the process outside, which ends this one
    task = msgspec.json.decode(sys.stdin.buffer.readline(), type=Task)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=False)
    # What is written for a while only goes to memory, and ends with this namespace of mounts, however that does.
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=700", "ringcast", os.environ["TMPDIR"]], check=False)
    told_at = 0.0

    def say(what: str, done: int, total: int) -> None:
        nonlocal told_at
        if done == total or time.monotonic() - told_at > TELL_S:
            told_at = time.monotonic()
            _print((what, done, total))

    try:
        ended = Ended(info=play(task.cell, Path(sys.argv[1]), task.shape, say))
    except RingcastError as error:
        ended = Ended(error=str(error), usage=isinstance(error, LocalProtocolError))
    _print(ended)


def _print(what: object) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(what) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
    os._exit(0)  # as the first process of its namespace it takes the others with it
