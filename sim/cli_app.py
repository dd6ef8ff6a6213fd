"""The commands of `python -m sim`."""

from __future__ import annotations

import typer

from sim.cli_campaign import campaign
from sim.cli_chaos import chaos
from sim.cli_exhaust import exhaust
from sim.cli_paper import EPILOG, paper
from sim.cli_replay import replay
from sim.cli_ring import ring
from sim.cli_scenario import scenario
from sim.cli_static import static

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


app.callback(invoke_without_command=True)(chaos)
app.command()(campaign)
app.command()(ring)
app.command()(replay)
app.command()(exhaust)
app.command(epilog=EPILOG)(paper)
app.command()(static)
app.command()(scenario)
