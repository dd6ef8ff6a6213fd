"""The commands of `python -m experiments`, a module a subject; what is heavy is imported when a command runs."""

from __future__ import annotations

from textwrap import wrap

import typer

from chord.cli_options import Version
from experiments.bench import MODULES
from experiments.cli_analyse import analyse, prepare
from experiments.cli_bench import bench
from experiments.cli_demo import demo, flights
from experiments.cli_mininet import mininet
from experiments.cli_overlay import overlay
from experiments.cli_report import report
from experiments.cli_rings import rounds, split
from experiments.cli_sweep import sweep

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def root(_version: Version = False) -> None:
    """Runs, measurements and their analysis."""


app.command()(demo)
app.command()(sweep)
app.command()(mininet)
app.command()(analyse)
app.command()(report)
app.add_typer(overlay, name="overlay")
app.command()(prepare)
app.command(epilog="\n  ".join(["\b\nNames:", *wrap(" ".join(MODULES), 76, break_on_hyphens=False)]))(bench)
app.command()(rounds)
app.command()(split)
app.command()(flights)
