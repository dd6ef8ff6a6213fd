"""Options that `ringcast pub` and `ringcast sub` share."""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from typing import Annotated

import typer

TERMINATED = 128 + signal.SIGTERM

Reliability = Annotated[str, typer.Option(help="best_effort or at_least_once.", metavar="KIND")]
Durability = Annotated[
    str | None,
    typer.Option(help="volatile, transient or persistent; by default what --history needs.", metavar="KIND"),
]

Brokered = Annotated[
    bool, typer.Option("--brokered", help="Through the brokers of a zone, by default the one with the fewest clients.")
]
Zone = Annotated[str | None, typer.Option(help="Through the brokers of this zone.", metavar="ZONE")]


def end_on_sigterm() -> None:
    """Have SIGTERM unwind the stack, so that the entries come off the ring."""
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(TERMINATED))


def tell(text: str) -> None:
    """One line on stderr, in one piece: more than one thread may have something to say."""
    with suppress(OSError):  # nobody reads it, or its disk is full: no reason to end
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


def warn(text: str) -> None:
    """Say what is wrong, but ends nothing."""
    tell(f"warning: {text}")
