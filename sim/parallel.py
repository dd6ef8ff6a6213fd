"""Work that is done side by side, on several processes, and handed out in order."""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

A = TypeVar("A")
R = TypeVar("R")

PR_SET_PDEATHSIG = 1
GARBAGE_EVERY = 50_000
"""Objects between two looks of the collector of garbage: 5 % of a run goes into them otherwise."""

WAITING_EACH = 8
ENDING = frozenset({signal.SIGINT, signal.SIGTERM})


def results(work: Callable[[A], R], arguments: Iterable[A], jobs: int) -> Generator[R, None, None]:
    """What `work` makes of each argument, on `jobs` processes. Raises BrokenProcessPool when one of them is killed.

    Ends them then, when `work` raises anything, and when it is closed or interrupted, in the middle of what they do.
    With a single job it is done here.
    """
    if jobs == 1:
        yield from map(work, arguments)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context, _begin) as pool:
        waiting: deque[Future[R]] = deque()
        try:
            for argument in arguments:
                with _undisturbed():
                    waiting.append(pool.submit(work, argument))
                if len(waiting) > WAITING_EACH * jobs:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BaseException:  # the pool would do first all that waits, which may take hours
            for process in multiprocessing.active_children():
                process.kill()
            raise


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Have SIGINT and SIGTERM wait; they stay blocked in processes that are started meanwhile, which would say where
    they hit them.
    """
    came: list[int] = []
    handlers = {number: signal.signal(number, lambda number, _frame: came.append(number)) for number in ENDING}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


def _begin() -> None:
    """Begin a process of the pool: it leaves interrupts to its parent, and ends with it, however it ends (prctl(2))."""
    gc.freeze()  # what a run leaves behind is small, and what was there before it stays
    gc.set_threshold(GARBAGE_EVERY)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    parent = multiprocessing.parent_process()
    if parent is not None and not parent.is_alive():  # it ended while this one was started, and no signal comes
        os._exit(1)
