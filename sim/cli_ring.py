"""`python -m sim ring`: nodes that join at once, crashes, lookups."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from chord.amounts import counted
from chord.errors import LocalProtocolError
from sim.cli_files import traces_in, written_to
from sim.commit import checked_out
from sim.exits import NOT_CONVERGED, UNSAFE
from sim.latency import Model, latency_of
from sim.run import Options, Report, describe, run


def ring(
    nodes: Annotated[int, typer.Option(help="Nodes that join at once.", min=1, max=100_000)] = 64,
    seed: Annotated[int, typer.Option(help="Decides everything that is left to chance.", min=0)] = 1,
    lookups: Annotated[int, typer.Option(help="Names to look up.", min=0)] = 1000,
    crashes: Annotated[int, typer.Option(help="Nodes that crash at once, before the lookups.", min=0)] = 0,
    within: Annotated[
        float, typer.Option(help="Virtual seconds in which the ring has to become ideal.", min=0.0)
    ] = 120,
    latency: Annotated[
        Model, typer.Option(help="How long frames take; the last three are distances on a graph.")
    ] = Model.uniform,
    trace: Annotated[
        Path | None, typer.Option(help="Directory to leave run.json and traces in.", metavar="DIR")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Run a ring of the production code in virtual time: join, crash, look up, judge every answer.

    The same seed gives the same run, byte for byte. Exit codes: 0 done, 1 a lookup failed or named a wrong owner, as is
    told on standard error, 2 usage, 3 the ring did not converge.

    \b
    Examples:
      python -m sim ring --nodes 64
      python -m sim ring --nodes 256 --crashes 8 --seed 7 --trace runs/seven
      python -m sim ring --nodes 1000 --latency transit-stub
    """
    if crashes >= nodes:
        raise typer.BadParameter(
            f"{crashes} of {nodes} nodes cannot crash and leave one to ask", param_hint="--crashes"
        )
    try:
        latency_of(latency, seed)
    except LocalProtocolError as error:
        raise typer.BadParameter(str(error), param_hint="--latency") from None
    options = Options(nodes=nodes, seed=seed, lookups=lookups, crashes=crashes, within_s=within, latency=latency)
    if trace is None:
        report = run(options, lambda _row: None)
    else:
        traces = traces_in(trace)
        with written_to(trace):
            report = run(options, traces.append)
            traces.close(describe(options, report, checked_out()))
    _show(report, as_json)
    for said in report.unsafe:
        typer.echo(f"error: {said}", err=True)
    if (more := report.failed + report.wrong_owners - len(report.unsafe)) > 0:
        typer.echo(f"error: and {counted(more, 'lookup')} more", err=True)
    if not report.safe:
        raise typer.Exit(UNSAFE)
    if not report.converged:
        raise typer.Exit(NOT_CONVERGED)


def _show(report: Report, as_json: bool) -> None:
    if as_json:
        print(msgspec.json.format(msgspec.json.encode(report), indent=2).decode())
    else:
        from sim.render import report_table

        report_table(report)
