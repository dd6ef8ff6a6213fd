"""What starts `dht`, `dht-join` and `dht-lookup`. All else is imported where Ctrl-C is one exit code already."""

from __future__ import annotations

import sys

INTERRUPTED = 130


def main() -> None:
    """`dht`."""
    _start("dht")


def join_main() -> None:
    """`dht-join`."""
    _start("dht_join")


def lookup_main() -> None:
    """`dht-lookup`."""
    _start("dht_lookup")


def _start(application: str) -> None:
    try:
        from chord import cli_app
        from chord.cli_run import run
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    run(getattr(cli_app, application))


if __name__ == "__main__":
    main()
