"""The `ringcast` command line: the commands."""

from __future__ import annotations

from chord.cli_options import make_app
from chord.cli_run import run
from pubsub.cli_pub import pub
from pubsub.cli_sub import sub, topics

app = make_app("Publish and subscribe on topics that are found through a Chord ring.")
for command in (pub, sub, topics):
    app.command()(command)


def main() -> None:
    """`ringcast`."""
    run(app)


if __name__ == "__main__":
    main()
