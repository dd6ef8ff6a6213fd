"""The options that `ringcast pub` and `ringcast sub` share beside those of their profile, and their checks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from chord.errors import LocalProtocolError

MOST_INSTANCES = 256
HIGHEST_PORT = 65_535

Instances = Annotated[
    int,
    typer.Option(
        help="Run so many of them, each a process and a client of its own.", metavar="N", min=1, max=MOST_INSTANCES
    ),
]
Autokill = Annotated[
    float | None,
    typer.Option(
        help="Kill it after so many seconds, as kill -9 would; exit code 137.", metavar="SECONDS", min=0.01, max=1e7
    ),
]
Plot = Annotated[
    Path | None,
    typer.Option(help="Draw it in the end, after Ctrl-C or --autokill too.", metavar="FILE.png"),
]


def check_addresses(instances: int, port: int, advertise: str | None) -> None:
    """Whether each of several clients can have an address of its own. Raises LocalProtocolError."""
    if port and port + instances - 1 > HIGHEST_PORT:
        raise LocalProtocolError(f"{instances} instances from --port {port} on are beyond port {HIGHEST_PORT}")
    if instances > 1 and advertise and ":" in advertise and not advertise.endswith("]"):
        raise LocalProtocolError(f"--advertise {advertise} is one address, and not {instances}; name the host alone")
