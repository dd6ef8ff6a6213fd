"""`python -m experiments rounds` and `split`: what could break a ring of real processes."""

from __future__ import annotations

from typing import Annotated

import typer

from chord.cli_run import FAILED


def rounds(
    rounds: Annotated[int, typer.Option(help="How many.", min=1, max=1_000_000)] = 500,
    seed: Annotated[int, typer.Option(help="What they are drawn from.", min=0)] = 1,
    jobs: Annotated[int, typer.Option(help="Rings side by side.", min=1, max=64)] = 2,
    successors: Annotated[int, typer.Option(help="Entries of each node's successor list.", min=2, max=128)] = 8,
    first: Annotated[int, typer.Option(help="The number of the first round.", min=1)] = 1,
    nodes: Annotated[int, typer.Option(help="Nodes at the beginning; 0 is drawn.", min=0, max=12)] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the totals as JSON.")] = False,
) -> None:
    """Try to break rings: rounds of 3 to 8 joins, kill -9s, SIGSTOPs and leaves on 3 to 12 real nodes.

    After each round every live node must name just the live nodes within 30 s, and every record that was acknowledged
    must be found. What went wrong is told on standard error, with the command that does it again.

    \b
    Examples:
      python -m experiments rounds --rounds 20
      python -m experiments rounds --rounds 500 --seed 7 --json
      python -m experiments rounds --seed 7 --first 37 --nodes 5 --rounds 1

    Exit codes: 0 no ring broken and no record lost, 1 not so, 2 usage, 130 interrupted.
    """
    from experiments.rings.outcome import Options
    from experiments.rounds import rounds as work

    options = Options(seed=seed, first=first, rounds=rounds, nodes=nodes, successors=successors)
    if not work(options, jobs, as_json):
        raise typer.Exit(FAILED)


def split(
    nodes: Annotated[int, typer.Option(help="How many, half of them on each host.", min=4, max=64)] = 10,
    cut: Annotated[float, typer.Option(help="Seconds without the cable.", min=1.0, max=3600.0)] = 60.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Cut a ring in two with a real network: two hosts (network namespaces) on a switch, whose cable is pulled.

    Both halves take writes meanwhile. Then: how long until every node's walk is one ring again, and whether each node
    finds every record of both halves, the higher version of what both changed. Needs root and iproute2.

    \b
    Examples:
      python -m experiments split
      python -m experiments split --nodes 6 --cut 10 --json

    Exit codes: 0 two rings, then one, and no record lost; 1 not so, also when the cut was too short for two rings to be
    seen; 2 usage or no network namespaces, 130 interrupted.
    """
    from experiments.split import split as work

    if not work(nodes, cut, as_json):
        raise typer.Exit(FAILED)
