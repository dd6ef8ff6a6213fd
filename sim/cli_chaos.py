"""`python -m sim --seed N` and `python -m sim campaign`: chaos, one run or many."""

from __future__ import annotations

from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from sim.campaign import Totals, runs
from sim.chaos import Chaos
from sim.commit import checked_out
from sim.exits import FAILED, NOT_CONVERGED, UNSAFE
from sim.plan import Plan, draw
from sim.render import plan_lines, totals_table, verdict_table
from sim.shrink import shrink
from sim.stage import Verdict
from sim.traces import Traces

Seed = Annotated[int | None, typer.Option(help="Draws the ring, the network and all that is done to them.", min=0)]
PlanFile = Annotated[
    Path | None, typer.Option("--plan", help="Run the plan in a file, as --save leaves it.", metavar="FILE")
]
Save = Annotated[Path | None, typer.Option(help="Leave the plan here, shrunk if it fails.", metavar="FILE")]
TraceDirectory = Annotated[Path | None, typer.Option(help="Leave run.json and traces here.", metavar="DIR")]
Shrink = Annotated[bool, typer.Option("--shrink/--no-shrink", help="Make a plan that fails as small as it goes.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def chaos(
    context: typer.Context,
    seed: Seed = None,
    plan_file: PlanFile = None,
    save: Save = None,
    trace: TraceDirectory = None,
    shrinks: Shrink = True,
    as_json: Json = False,
) -> None:
    """Rings of the production code in virtual time. Without a command: one chaos run, drawn from a seed.

    Processes join, crash, leave, restart and stand still, links fail, the network falls apart, records are written and
    read; the ring is judged at every step, healed, and judged once more. The same seed gives the same run.
    Exit codes: 0 all held, 1 something happened that must never happen, 2 usage, 3 something did not happen in time.

    \b
    Examples:
      python -m sim --seed 7
      python -m sim --seed 7 --trace runs/seven --save seven.json
      python -m sim --plan seven.json
      python -m sim campaign --runs 2000
    """
    if context.invoked_subcommand is not None:
        return
    if (seed is None) == (plan_file is None):
        raise typer.BadParameter("name one of the two: --seed N or --plan FILE", param_hint="--seed")
    if trace is not None and (trace / "run.json").exists():
        raise typer.BadParameter(f"{trace} holds a run already", param_hint="--trace")
    plan = draw(seed) if seed is not None else _read(plan_file)
    try:
        verdict = _run(plan, trace)
        if verdict.verdict != "ok" and shrinks:
            plan = shrink(plan, lambda smaller: Chaos(smaller).run().verdict == verdict.verdict)
        if save is not None:
            save.write_bytes(msgspec.json.format(msgspec.json.encode(plan), indent=1) + b"\n")
    except OSError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(FAILED) from None
    if as_json:
        _print({"verdict": verdict, "plan": plan})
    else:
        console = Console()
        verdict_table(verdict, console)
        if verdict.verdict != "ok":
            plan_lines(plan, console)
    raise typer.Exit({"ok": 0, "unsafe": UNSAFE, "stuck": NOT_CONVERGED}[verdict.verdict])


def _read(plan_file: Path | None) -> Plan:
    assert plan_file is not None
    try:
        return msgspec.json.decode(plan_file.read_bytes(), type=Plan)
    except OSError as error:
        raise typer.BadParameter(str(error), param_hint="--plan") from None
    except msgspec.DecodeError as error:
        raise typer.BadParameter(f"{plan_file} holds no plan: {error}", param_hint="--plan") from None


def _run(plan: Plan, trace: Path | None) -> Verdict:
    if trace is None:
        return Chaos(plan).run()
    traces = Traces(trace)
    run = Chaos(plan, traces.append)
    verdict = run.run()
    traces.close(run.describe(checked_out()))
    return verdict


def campaign(
    count: Annotated[int, typer.Option("--runs", help="How many seeds.", min=1)] = 2000,
    first: Annotated[int, typer.Option(help="The first seed.", min=0)] = 1,
    jobs: Annotated[int, typer.Option(help="Processes that run side by side.", min=1, max=256)] = 2,
    as_json: Json = False,
) -> None:
    """Many chaos runs, each as `python -m sim --seed N`; totals at the end, and the seeds that failed.

    \b
    Examples:
      python -m sim campaign --runs 2000
      python -m sim campaign --runs 100000 --jobs 4 --json
    """
    totals = Totals()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        bar = progress.add_task("runs", total=count)
        try:
            for verdict in runs(first, count, jobs):
                totals.add(verdict)
                if verdict.verdict != "ok":
                    seed = f"seed {verdict.seed}: {verdict.verdict}: {verdict.findings[0]}"
                    progress.console.print(seed, markup=False)
                progress.advance(bar)
        except BrokenProcessPool:
            typer.echo(
                f"error: one of {jobs} processes was killed after {totals.runs} of {count} runs; fewer --jobs take "
                f"less memory, and --first {first + totals.runs} goes on",
                err=True,
            )
            raise typer.Exit(FAILED) from None
    if as_json:
        _print(totals)
    else:
        totals_table(totals, Console())
    if totals.unsafe:
        raise typer.Exit(UNSAFE)
    if totals.stuck:
        raise typer.Exit(NOT_CONVERGED)


def _print(what: Any) -> None:
    print(msgspec.json.format(msgspec.json.encode(what), indent=2).decode())
