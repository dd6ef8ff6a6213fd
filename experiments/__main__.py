"""`python -m experiments`."""

from __future__ import annotations

from collections.abc import Callable

from chord.starting import start


def _load() -> Callable[[], None]:
    from experiments.cli import main

    return main


start(_load)
