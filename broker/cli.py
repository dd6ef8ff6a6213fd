"""The `ringcast` command line: the commands."""

from __future__ import annotations

import typer

from chord.cli import run
from pubsub.cli_pub import pub
from pubsub.cli_sub import sub, topics

app = typer.Typer(
    help="Publish and subscribe on topics that are found through a Chord ring.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="RINGCAST_VIA (space-separated HOST:PORT) is the default of --via.",
)
for command in (pub, sub, topics):
    app.command()(command)


def main() -> None:
    """`ringcast`."""
    run(app)


if __name__ == "__main__":
    main()
