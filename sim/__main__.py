"""`python -m sim`: rings in virtual time, from a seed.

Starts as chord/starting.py has commands start; that is a driver, of which sim imports none.
"""

from __future__ import annotations

import os
import signal

INTERRUPTED = 130


def main() -> None:
    """Run the command line. Ctrl-C ends it without a word, also while it is imported."""
    signal.signal(signal.SIGINT, lambda _number, _frame: os._exit(INTERRUPTED))
    from sim.cli_app import app

    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        app(prog_name="python -m sim")
    except KeyboardInterrupt:
        os._exit(INTERRUPTED)


if __name__ == "__main__":
    main()
