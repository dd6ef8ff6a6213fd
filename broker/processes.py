"""Local processes, for the local stack, demo, benchmarks and tests: started, ended, and never orphaned."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from functools import partial

from broker.interrupts import undisturbed
from chord.errors import RingcastError

READY_S = 60.0
_PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None, use_errno=True)


class ProcessFailed(RingcastError):
    """A process that this one started did not do what it was started for."""


def start(
    arguments: list[str], stdout: int | None = None, stderr: int | None = None, stdin: int = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    """Start `python -m ...` with this interpreter, as `start_program` does."""
    return start_program([sys.executable, "-m", *arguments], stdout, stderr, stdin)


def start_program(
    command: list[str], stdout: int | None = None, stderr: int | None = None, stdin: int = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    """Start a program, with pipes that are not buffered.

    It ends with the thread that started it, so with this process, however that ends, and Ctrl-C in a terminal is left
    to this process.
    """
    with undisturbed():  # logging and others take locks around a fork, and would keep them
        return subprocess.Popen(
            command,
            bufsize=0,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            process_group=0,
            preexec_fn=partial(die_with_parent, os.getpid()),  # noqa: PLW1509  # this process has one thread when it starts others
        )


def die_with_parent(parent: int) -> None:
    """In a child, before it becomes another program: have the kernel end it when its parent ends, however that does."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it has ended already
        os.kill(os.getpid(), signal.SIGKILL)


def read_line(process: subprocess.Popen[bytes], timeout_s: float = READY_S) -> str:
    """The next line that a process writes to its standard output. Raises ProcessFailed."""
    assert process.stdout is not None
    readable, _, _ = select.select([process.stdout], [], [], timeout_s)
    line = process.stdout.readline() if readable else b""
    if not line:
        said = "ended early" if readable else f"said nothing within {timeout_s:.0f} s"
        raise ProcessFailed(f"{process.args!r} {said}")
    return line.decode().strip()


def write_line(process: subprocess.Popen[bytes], line: str = "") -> None:
    """Write a line to a process that reads its standard input; reading from it tells if it is gone."""
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.write(line.encode() + b"\n")


def end(process: subprocess.Popen[bytes]) -> None:
    """kill -9, and close its pipes. Ending twice is harmless."""
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()
