"""Several clients from one command, each a process of its own.

They are forked, which takes milliseconds, before anything has begun that a fork would break. Each has its own
interpreter, I/O thread and sockets, so that what one of them measures is not its waiting for another.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from broker.interrupts import SIGNALS, unwind_on_signals
from broker.prefixed import Prefixed
from broker.processes import die_with_parent
from broker.supervising import Child, see_to
from pubsub.cli_options import end_on_sigterm

WRITING, STARTING = 0, 1
"""What only one instance does at a time: bytes of the file that is locked for it."""


@dataclass(frozen=True, slots=True)
class Instance:
    """Which of how many clients of one command this process is."""

    number: int = 1
    count: int = 1
    lock: IO[bytes] | None = None

    @property
    def prefix(self) -> str:
        """What its lines begin with: nothing if it is the only one."""
        return f"[{self.number}] " if self.count > 1 else ""

    def port(self, first: int) -> int:
        """Where it listens if the first one listens at `first`: one port after the other. 0 stays any that is free."""
        return first + self.number - 1 if first else 0

    def path(self, path: Path) -> Path:
        """The file of its own: `name-2.csv` of `name.csv`. What is there and no file, as a pipe, is shared."""
        if self.count == 1 or (path.exists() and not path.is_file()):
            return path
        return path.with_stem(f"{path.stem}-{self.number}")

    @contextmanager
    def alone(self, what: int) -> Iterator[None]:
        """No other instance does this meanwhile. The kernel unlocks for a process that ends, however it does."""
        if self.lock is None:
            yield
            return
        fcntl.lockf(self.lock, fcntl.LOCK_EX, 1, what)
        try:
            yield
        finally:
            fcntl.lockf(self.lock, fcntl.LOCK_UN, 1, what)


def divide(count: int, autokill_s: float | None = None, at_end: Callable[[], None] | None = None) -> Instance:
    """Go on as `count` processes, each of which is told which one it is; in the one that was called this never returns.

    It waits for them, calls `at_end` and exits: with 0 if all of them did, else with the code of the first that did
    not. SIGINT and SIGTERM have all of them leave the ring, and it exits with 130 or 143. After `autokill_s` those that
    are left are killed at once (SIGKILL), and it exits with 137. However it ends itself, they end too.

    A single client that nobody has to wait for is this very process.
    """
    if count == 1 and autokill_s is None and at_end is None:
        end_on_sigterm()
        return Instance()
    sys.stdout.flush()
    parent = os.getpid()
    lock = tempfile.TemporaryFile() if count > 1 else None  # noqa: SIM115  # open for as long as the process
    children: list[Child] = []
    masked = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        for number in range(1, count + 1):
            process = os.fork()
            if process == 0:
                return _begin(parent, Instance(number, count, lock))
            children.append(Child(number, process))
        unwind_on_signals()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, masked)
    return see_to(children, autokill_s, at_end or _nothing)


def _begin(parent: int, instance: Instance) -> Instance:
    """In a child: Ctrl-C, which a terminal sends to all, is the parent's to pass on."""
    die_with_parent(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_on_sigterm()
    if instance.prefix:
        sys.stderr = Prefixed(sys.stderr, instance.prefix)
    return instance


def _nothing() -> None:
    """Nobody is waited for but the clients."""
