"""`python -m sim --seed N`: chaos, one run."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console

from sim.chaos import Chaos
from sim.cli_files import check_writable, traces_in, written_to
from sim.commit import checked_out
from sim.exits import NOT_CONVERGED, UNSAFE, USAGE
from sim.plan import Plan, draw
from sim.render import plan_lines, verdict_table
from sim.shrink import shrink
from sim.stage import Verdict

Seed = Annotated[int | None, typer.Option(help="Draws the ring, the network and all that is done to them.", min=0)]
PlanFile = Annotated[
    Path | None, typer.Option("--plan", help="Run the plan in a file, as --save leaves it.", metavar="FILE")
]
Save = Annotated[Path | None, typer.Option(help="Leave the plan here, shrunk if it fails.", metavar="FILE")]
TraceDirectory = Annotated[Path | None, typer.Option(help="Leave run.json and traces here.", metavar="DIR")]
Shrink = Annotated[bool, typer.Option("--shrink/--no-shrink", help="Make a plan that fails as small as it goes.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ringcast {version('ringcast')}")
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)]


def chaos(
    context: typer.Context,
    seed: Seed = None,
    plan_file: PlanFile = None,
    save: Save = None,
    trace: TraceDirectory = None,
    shrinks: Shrink = True,
    as_json: Json = False,
    _version: Version = False,
) -> None:
    """Rings of the production code in virtual time. Without a command: one chaos run, drawn from a seed.

    Processes join, crash, leave, restart and stand still, links fail, the network falls apart, records are written and
    read; the ring is judged at every step, healed, and judged once more. The same seed gives the same run.
    Exit codes: 0 all held, 1 something happened that must never happen, 2 usage, 3 something did not happen in time.

    \b
    Examples:
      python -m sim --seed 144
      python -m sim --seed 7 --trace runs/seven --save seven.json
      python -m sim --plan seven.json
      python -m sim campaign --runs 2000
    """
    if context.invoked_subcommand is not None:
        _refuse_options_of_its_own(context, context.invoked_subcommand)
        return
    if not any(_is_given(context, each.name) for each in context.command.params):
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(USAGE)
    if (seed is None) == (plan_file is None):
        raise typer.BadParameter("name one of the two: --seed N or --plan FILE", param_hint="--seed")
    plan = draw(seed) if seed is not None else _read(plan_file)
    if save is not None:
        check_writable(save, "--save")
    verdict = Chaos(plan).run() if trace is None else _traced(plan, trace)
    if verdict.verdict != "ok" and shrinks:
        plan = shrink(plan, lambda smaller: Chaos(smaller).run().verdict == verdict.verdict)
    if as_json:
        _print({"verdict": verdict, "plan": plan})
    else:
        console = Console()
        verdict_table(verdict, console)
        if verdict.verdict != "ok":
            plan_lines(plan, console)
    if save is not None:
        with written_to(save):
            save.write_bytes(msgspec.json.format(msgspec.json.encode(plan), indent=1) + b"\n")
    raise typer.Exit({"ok": 0, "unsafe": UNSAFE, "stuck": NOT_CONVERGED}[verdict.verdict])


def _read(plan_file: Path | None) -> Plan:
    assert plan_file is not None
    try:
        return msgspec.json.decode(plan_file.read_bytes(), type=Plan)
    except OSError as error:
        raise typer.BadParameter(f"{plan_file} cannot be read: {error.strerror}", param_hint="--plan") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise typer.BadParameter(f"{plan_file} holds no plan: {error}", param_hint="--plan") from None


def _traced(plan: Plan, directory: Path) -> Verdict:
    traces = traces_in(directory)
    with written_to(directory):
        run = Chaos(plan, traces.append)
        verdict = run.run()
        traces.close(run.describe(checked_out()))
    return verdict


def _refuse_options_of_its_own(context: typer.Context, command: str) -> None:
    """Raises BadParameter for an option that stands before a command: those are of one chaos run."""
    own = {each for parameter in context.command.commands[command].params for each in parameter.opts}  # type: ignore[attr-defined]  # a group
    for parameter in context.command.params:
        if not _is_given(context, parameter.name):
            continue
        option = parameter.opts[0]
        if option == "--seed" and "--first" in own:
            instead = f"{command} --first {context.params['seed']}"
        else:
            instead = f"{command} {option} ..." if option in own else command
        raise typer.BadParameter(
            f"before {command} it has no effect; use python -m sim {instead}",
            param_hint="/".join([*parameter.opts, *parameter.secondary_opts]),
        )


def _is_given(context: typer.Context, name: str | None) -> bool:
    source = context.get_parameter_source(name or "")
    return source is not None and source.name == "COMMANDLINE"


def _print(what: Any) -> None:
    print(msgspec.json.format(msgspec.json.encode(what), indent=2).decode())
