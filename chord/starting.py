"""Starting a command line: from here on Ctrl-C ends it without a word, also while the commands are imported."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from types import FrameType

INTERRUPTED = 130


def start(load: Callable[[], Callable[[], None]]) -> None:
    """Call `load`, which imports a command line, and then what it returns. From its end on Ctrl-C is ignored."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # else somebody wants it ignored, or is not a command line
        signal.signal(signal.SIGINT, _leave)
    command = load()
    try:
        signal.signal(signal.SIGINT, before)
        command()
    except KeyboardInterrupt:
        os._exit(INTERRUPTED)
    finally:
        # What is left is the end of the interpreter, which would say where it was interrupted.
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _leave(_number: int, _frame: FrameType | None) -> None:
    """Nothing has begun that would have to end well, and what is raised in the middle of an import may get lost."""
    os._exit(INTERRUPTED)
