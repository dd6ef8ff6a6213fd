"""What starts `ringcast`. Ctrl-C ends it without a word from here on, also while the commands are imported."""

from __future__ import annotations

import os
import signal
from types import FrameType

from chord.cli import INTERRUPTED


def main() -> None:
    """`ringcast`. Ends the process: from its return on Ctrl-C is ignored."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # else somebody wants it ignored, or is not a command line
        signal.signal(signal.SIGINT, _leave)
    from broker.cli_app import ringcast
    from chord.cli_run import run

    try:
        signal.signal(signal.SIGINT, before)
        run(ringcast)
    except KeyboardInterrupt:
        os._exit(INTERRUPTED)
    finally:
        # What is left is the end of the interpreter, which would say where it was interrupted.
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _leave(_number: int, _frame: FrameType | None) -> None:
    """Nothing has begun that would have to end well, and what is raised in the middle of an import may get lost."""
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    main()
