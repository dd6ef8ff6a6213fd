"""The process that sees to the clients of one command: waits for them, passes signals on, and kills them in time."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import NoReturn

from chord.cli_run import NOBODY_READS
from pubsub.cli_options import tell

KILLED = 128 + signal.SIGKILL
UNWINDS_S = 10.0
"""How long a client that is told to end may take to leave the ring."""


class Child:
    """A process that was forked. It is waited for through its descriptor, for which there is no race."""

    def __init__(self, number: int, process: int) -> None:
        self.number = number
        self.code: int | None = None
        self.descriptor = os.pidfd_open(process)

    def send(self, number: int) -> None:
        """Send a signal, if it has not been waited for."""
        if self.code is None:
            signal.pidfd_send_signal(self.descriptor, number)

    def reap(self) -> None:
        """Take its exit code, 128 + N when signal N ended it. Waits for its end."""
        ended = os.waitid(os.P_PIDFD, self.descriptor, os.WEXITED)
        assert ended is not None
        self.code = ended.si_status if ended.si_code == os.CLD_EXITED else 128 + ended.si_status
        os.close(self.descriptor)


def see_to(children: list[Child], autokill_s: float | None, at_end: Callable[[], None]) -> NoReturn:
    """Wait for all of them, as `divide` promises, and exit."""
    try:
        in_time = _wait(children, autokill_s)
    except (KeyboardInterrupt, SystemExit):
        _end(children)
        at_end()
        raise
    if not in_time:
        assert autokill_s is not None
        _kill(children)
        tell(f"autokill: killed {_named(children)} after {autokill_s:g} s")
    at_end()
    sys.exit(KILLED if not in_time else exit_code([child.code or 0 for child in children]))


def exit_code(codes: list[int]) -> int:
    """That of the whole: the first that says what went wrong. Where nobody reads, the others were ended for that."""
    return NOBODY_READS if NOBODY_READS in codes else next((code for code in codes if code), 0)


def _wait(children: list[Child], within_s: float | None) -> bool:
    """Whether all of them ended within the time. Once nobody reads what one of them prints, the others are ended."""
    deadline = None if within_s is None else time.monotonic() + within_s
    running = {child.descriptor: child for child in children if child.code is None}
    poll = select.poll()
    for descriptor in running:
        poll.register(descriptor, select.POLLIN)
    while running:
        left_s = None if deadline is None else deadline - time.monotonic()
        if left_s is not None and left_s <= 0:
            return False
        for descriptor, _ in poll.poll(None if left_s is None else left_s * 1000.0):
            poll.unregister(descriptor)
            child = running.pop(descriptor)
            child.reap()
            if child.code == NOBODY_READS:
                for other in running.values():
                    other.send(signal.SIGTERM)
            elif child.code == KILLED:
                tell(f"client {child.number} of {len(children)} was killed")
    return True


def _end(children: list[Child]) -> None:
    """Have all of them leave the ring; what has not done so in time is killed."""
    for child in children:
        child.send(signal.SIGTERM)
    if not _wait(children, UNWINDS_S):
        _kill(children)


def _kill(children: list[Child]) -> None:
    left = [child for child in children if child.code is None]
    for child in left:
        child.send(signal.SIGKILL)
    for child in left:
        child.reap()


def _named(children: list[Child]) -> str:
    killed = sum(child.code == KILLED for child in children)
    return f"{killed} of {len(children)} clients" if len(children) > 1 else "the process"
