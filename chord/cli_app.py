"""The `dht` command line: its commands, and those that are installed under a name of their own."""

from __future__ import annotations

from collections.abc import Callable

import typer

from chord.cli_join import join
from chord.cli_names import delete, get, lookup, put, ring
from chord.cli_options import make_app

dht = make_app("Run and ask a Chord ring of discovery nodes.")
for command in (join, lookup, ring, put, get, delete):
    dht.command()(command)


def _single(command: Callable[..., None]) -> typer.Typer:
    alone = make_app()
    alone.command()(command)
    return alone


dht_join = _single(join)
dht_lookup = _single(lookup)
