"""`python -m sim`: rings in virtual time, from a seed.

Starts and ends as chord/starting.py and chord/cli_run.py have commands do: drivers, of which sim imports none.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

from sim.exits import FAILED, INTERRUPTED, NOBODY_READS, TERMINATED, Terminated

if TYPE_CHECKING:
    from types import FrameType

    import typer


def main() -> None:
    """Run the command line. Ctrl-C ends it without a word, also while it is imported, as do SIGTERM and `| head -1`."""
    signal.signal(signal.SIGINT, lambda _number, _frame: os._exit(INTERRUPTED))
    from sim.cli_app import app

    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _terminate)
    try:
        _run_to_the_last_line(app)
    except KeyboardInterrupt:
        os._exit(INTERRUPTED)
    except Terminated:
        sys.exit(TERMINATED)  # not at once: what the processes of a pool share is to be taken back
    except BrokenPipeError:
        os._exit(NOBODY_READS)
    except (OSError, MemoryError) as error:
        print(f"error: {str(error) or 'there is not enough memory'}", file=sys.stderr, flush=True)
        os._exit(FAILED)


def _terminate(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # what is left takes no time
    raise Terminated


def _run_to_the_last_line(app: typer.Typer) -> None:
    """Raises BrokenPipeError when nobody reads what is printed any more."""
    try:
        app(prog_name="python -m sim")
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # of which typer and rich make exit code 1
            raise end.__context__ from None
        print(end="", flush=True)
        raise


if __name__ == "__main__":
    main()
