"""What starts `dht`, `dht-join` and `dht-lookup`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from chord.starting import start


def main() -> None:
    """`dht`."""
    start(lambda: _load("dht"))


def join_main() -> None:
    """`dht-join`."""
    start(lambda: _load("dht_join"))


def lookup_main() -> None:
    """`dht-lookup`."""
    start(lambda: _load("dht_lookup"))


def _load(application: str) -> Callable[[], None]:
    from chord import cli_app
    from chord.cli_run import run

    return partial(run, getattr(cli_app, application))


if __name__ == "__main__":
    main()
