"""How a command line runs: what an error looks like to a person, and which exit code it has."""

from __future__ import annotations

import io
import os
import signal
import sys

import typer

from chord.errors import InvalidName, LocalProtocolError, RingcastError
from chord.starting import INTERRUPTED

FAILED = 1
USAGE = 2
NOBODY_READS = 128 + signal.SIGPIPE
"""Standard output is a pipe whose reader has had enough, as of `| head -1`. It may be the end of what was asked for."""


def run(application: typer.Typer) -> None:
    """Run a command line; every RingcastError and OSError becomes one line on stderr and an exit code."""
    try:
        _mend_streams()
        _run_to_the_last_line(application)
    except (InvalidName, LocalProtocolError) as error:
        _say(error)
        sys.exit(USAGE)
    except RingcastError as error:
        _say(error)
        sys.exit(FAILED)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # Whoever read our output has had enough; keep the interpreter from complaining at exit.
        _silence_stdout()
        sys.exit(NOBODY_READS)
    except OSError as error:
        _say(error)
        _silence_stdout()
        sys.exit(FAILED)


def _run_to_the_last_line(application: typer.Typer) -> None:
    """Run it, and hand over all that it printed. Raises BrokenPipeError when nobody reads it any more."""
    try:
        application()
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # of which typer and rich make exit code 1
            raise end.__context__ from None
        sys.stdout.flush()
        raise


def _mend_streams() -> None:
    """Let nothing that is printed fail for its characters, and a stream that was closed be an empty one."""
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115  # open for as long as the process
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # likewise
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # likewise
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _silence_stdout() -> None:
    """Keep what is still buffered for a broken stdout from failing again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(error: RingcastError | OSError) -> None:
    text = str(error).encode("utf-8", "backslashreplace").decode("utf-8")
    print(f"error: {text}", file=sys.stderr)
