"""What starts `ringcast`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from chord.starting import start


def main() -> None:
    """`ringcast`."""
    start(_load)


def _load() -> Callable[[], None]:
    from broker.cli_app import ringcast
    from chord.cli_run import run

    return partial(run, ringcast)


if __name__ == "__main__":
    main()
