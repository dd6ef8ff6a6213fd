"""What every command line of Ringcast shares: options that mean the same everywhere, and how a command is made."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Via = Annotated[
    list[str] | None,
    typer.Option(help="A node of the ring; repeat it for more.", metavar="HOST:PORT", envvar="RINGCAST_VIA"),
]
Cluster = Annotated[str, typer.Option(help="Name of the ring.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Patience = Annotated[float, typer.Option(help="Seconds to keep trying.", min=0.1, max=3600.0)]
Trace = Annotated[Path | None, typer.Option(help="Directory to leave traces in.", metavar="DIR")]
Host = Annotated[str, typer.Option(help="Address to listen on.")]
Port = Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.", min=0, max=65_535)]
Advertise = Annotated[
    str | None,
    typer.Option(help="HOST[:PORT] that others reach this process at, if not --host.", metavar="HOST[:PORT]"),
]


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # slow to import

        print(f"ringcast {version('ringcast')}")
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)]


def make_app(help: str | None = None) -> typer.Typer:  # noqa: A002 (typer's own word)
    """An application without commands; errors are left to whoever runs it. `help` for one of several commands."""
    app = typer.Typer(
        help=help,
        no_args_is_help=help is not None,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog=None if help is None else "RINGCAST_VIA (space-separated HOST:PORT) is the default of --via.",
    )
    if help is not None:

        @app.callback(help=help)
        def root(_version: Version = False) -> None:
            pass

    return app
