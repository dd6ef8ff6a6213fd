"""What starts `python -m experiments`."""

from __future__ import annotations

import sys

from broker.interrupts import INTERRUPTED, unwind_on_signals
from chord.cli_run import USAGE, run
from experiments.cli_app import app


def main() -> None:
    """Run the command line: an error is one line and an exit code, Ctrl-C is 130, SIGTERM is 143."""
    unwind_on_signals()
    try:
        run(app)
    except SystemExit as end:
        if end.code in INTERRUPTED:
            print("interrupted; what was started has ended", file=sys.stderr)
        raise
    except ModuleNotFoundError as error:
        say = f"error: {error.name} is not installed: `pip install 'ringcast[analysis,bench,brokers,sim]'`"
        print(say, file=sys.stderr)
        sys.exit(USAGE)
