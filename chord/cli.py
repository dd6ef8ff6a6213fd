"""The `dht` command line: the commands, and what an error looks like to a person."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable

import typer

from chord.cli_join import join
from chord.cli_names import delete, get, lookup, put, ring
from chord.cli_options import make_app
from chord.errors import InvalidName, LocalProtocolError, RingcastError

USAGE = 2
FAILED = 1
INTERRUPTED = 130

app = make_app("Run and ask a Chord ring of discovery nodes.")
for command in (join, lookup, ring, put, get, delete):
    app.command()(command)


def _single(command: Callable[..., None]) -> typer.Typer:
    alone = make_app()
    alone.command()(command)
    return alone


def run(application: typer.Typer) -> None:
    """Run a command line; every RingcastError and OSError becomes one line on stderr and an exit code."""
    _mend_streams()
    try:
        application()
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
        sys.exit(FAILED)
    except OSError as error:
        _say(error)
        _silence_stdout()
        sys.exit(FAILED)


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


def main() -> None:
    """`dht`."""
    run(app)


def join_main() -> None:
    """`dht-join`."""
    run(_single(join))


def lookup_main() -> None:
    """`dht-lookup`."""
    run(_single(lookup))


if __name__ == "__main__":
    main()
