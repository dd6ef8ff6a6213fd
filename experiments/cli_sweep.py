"""`python -m experiments sweep`: the same work on rings and clients that differ in what a plan varies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from chord.cli_run import FAILED


def sweep(
    plan: Annotated[
        str | None,
        typer.Argument(
            metavar="PLAN",
            help="A TOML file, or the name of a plan that comes with it: see --list; by default local, of static rings "
            "static-scale.",
        ),
    ] = None,
    size: Annotated[
        str | None, typer.Option("--size", "--sizes", "--nodes", help="Ring nodes: 8, 4,8,16, 4..256 or 2^10..2^24.")
    ] = None,
    vnodes: Annotated[str | None, typer.Option(help="Virtual nodes of each process.")] = None,
    successors: Annotated[str | None, typer.Option(help="Entries of each successor list.")] = None,
    mode: Annotated[str | None, typer.Option(help="Lookups: iterative, recursive or both with a comma.")] = None,
    dissemination: Annotated[str | None, typer.Option(help="direct, brokered or both with a comma.")] = None,
    publishers: Annotated[str | None, typer.Option(help="How many publish.")] = None,
    subscribers: Annotated[str | None, typer.Option(help="How many subscribe; as many as publish by default.")] = None,
    clients: Annotated[str | None, typer.Option(help="Both: half of them publish, half subscribe.")] = None,
    payload: Annotated[str | None, typer.Option(help="Bytes of a sample.")] = None,
    lookups: Annotated[str | None, typer.Option(help="Lookups in each ring: 2000 or 10^8.")] = None,
    rings: Annotated[int | None, typer.Option(help="Static rings that share those lookups.", min=1)] = None,
    samples: Annotated[int | None, typer.Option(help="Samples of each publisher.", min=1)] = None,
    rate: Annotated[float | None, typer.Option(help="Samples of each publisher a second.", min=0.001)] = None,
    faults: Annotated[str | None, typer.Option(help="Fault plans by name, with commas between; none is one.")] = None,
    topology: Annotated[
        list[str] | None, typer.Option(help="Of Mininet, like tree,depth=2,fanout=3; repeat it for more.")
    ] = None,
    capture: Annotated[
        bool | None, typer.Option("--capture/--no-capture", help="Packets on the wire (mininet).")
    ] = None,
    seeds: Annotated[str | None, typer.Option(help="What is left to chance: 1, 1,2,7 or 1..5.")] = None,
    repeats: Annotated[int | None, typer.Option(help="How often each.", min=1, max=1000)] = None,
    where: Annotated[str | None, typer.Option(help="local, mininet, sim or static.")] = None,
    master: Annotated[
        str | None,
        typer.Option(
            help="Where Spark spreads static cells: local[4] or spark://HOST:7077; '' for nowhere. By default all "
            "cores, if those cells take more than a minute of one core.",
            show_default=False,
        ),
    ] = None,
    conf: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting of Spark; may be given repeatedly.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="RUN", help="Where the run goes; runs/PLAN by default.")] = None,
    list_plans: Annotated[
        bool, typer.Option("--list", help="Name the plans that come with it, and do nothing.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Name the cells and how long, and do nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Run every cell of a plan: rings and clients that differ in what the plan varies, on processes of this machine,
    on Mininet's hosts, in the simulator or as static rings.

    An option replaces what the plan has for it, in the blocks that name it or else in all; '' leaves those blocks out.
    A sweep that was stopped goes on with the same command: finished cells stay. A cell that fails is told, and the
    rest goes on. docs/plans.md tells how a plan is written.

    \b
    Examples:
      python -m experiments sweep quick
      python -m experiments sweep --sizes 4,8,16 --clients 2,32 --out runs/sweep
      python -m experiments sweep failures --seeds 1..5 --where sim
      python -m experiments sweep --where static --nodes 2^10..2^24 --lookups 10^8
      python -m experiments sweep static-scale --master spark://127.0.0.1:7077
      python -m experiments analyse runs/sweep

    Exit codes: 0 done, 1 cells failed, 2 usage, 130 interrupted.
    """
    from experiments.spark.settings import parse_conf
    from experiments.sweep import command

    settings = parse_conf(conf or [])
    if list_plans:
        command.show_plans(as_json)
        return
    changes: dict[str, Any] = {
        "where": where,
        "nodes": size,
        "vnodes": vnodes,
        "successors": successors,
        "mode": _listed(mode),
        "dissemination": _listed(dissemination),
        "publishers": publishers,
        "subscribers": subscribers,
        "clients": clients,
        "payload_bytes": payload,
        "lookups": lookups,
        "rings": rings,
        "samples": samples,
        "rate": rate,
        "faults": _listed(faults),
        "topology": topology,
        "capture": capture,
        "seeds": seeds,
        "repeats": repeats,
    }
    given = {key: value for key, value in changes.items() if value is not None}
    asked = command.read(plan or command.default_plan(where), given)
    if dry_run:
        command.show_cells(asked, master, as_json)
        return
    if not command.run(asked, out or Path("runs") / asked.name, as_json, master, settings):
        raise typer.Exit(FAILED)


def _listed(text: str | None) -> list[str] | None:
    return None if text is None else [each.strip() for each in text.split(",") if each.strip()]
