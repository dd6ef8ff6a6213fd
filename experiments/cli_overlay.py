"""`python -m experiments overlay`: a ring as a graph, and a real ring beside the same one simulated."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from chord.cli_options import AsJson, Cluster, Patience, make_app
from chord.cli_run import FAILED
from chord.client import Mode
from chord.errors import LocalProtocolError
from sim.latency import Model

GROUP = """Measure a ring as a graph: take a snapshot of a real or a simulated one, and reckon on it.

\b
Examples:
  python -m experiments overlay snapshot 127.0.0.1:5000 --out ring.json
  python -m experiments overlay metrics ring.json --json
  python -m experiments overlay compare --nodes 16
  python -m experiments overlay fit runs/a --predict runs/b

\b
Each of them prints JSON with --json in place of text.
docs/overlay.md tells what the measures say.
"""

overlay = make_app(GROUP)
overlay.info.epilog = ""

SnapshotFile = Annotated[Path, typer.Argument(metavar="SNAPSHOT", help="A file that `overlay snapshot` wrote.")]
Seed = Annotated[int, typer.Option(help="Decides what is left to chance.", min=0)]
Successors = Annotated[int, typer.Option(help="Entries of each successor list.", min=1, max=128)]
Vnodes = Annotated[int, typer.Option(help="Virtual nodes of each process.", min=1, max=128)]


@overlay.command()
def snapshot(
    context: typer.Context,
    address: Annotated[
        str | None, typer.Argument(metavar="[ADDRESS]", help="Any node of a real ring, as HOST:PORT.")
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where it goes.")] = Path("ring.json"),
    simulated: Annotated[bool, typer.Option("--simulated", help="Of an ideal simulated ring instead.")] = False,
    nodes: Annotated[int, typer.Option(help="Processes of a simulated ring.", min=1, max=20_000)] = 64,
    seed: Seed = 1,
    successors: Successors = 8,
    vnodes: Vnodes = 1,
    latency: Annotated[Model, typer.Option(help="Underlay of a simulated ring, for `stretch`.")] = Model.uniform,
    cluster: Cluster = "ringcast",
    wait: Annotated[
        float, typer.Option(metavar="S", help="Wait so long for every list and finger of a real ring to be right.")
    ] = 0.0,
    patience: Patience = 5.0,
    as_json: AsJson = False,
) -> None:
    """Take a snapshot of a ring: every member with its predecessor, successor list and fingers.

    Of a real ring members are asked for their next hops, which changes nothing and names everybody that a lookup can be
    passed on to. Without --wait the ring is taken as it is, right or not. Exit code 1 when --wait was not long enough.

    \b
    Examples:
      python -m experiments overlay snapshot 127.0.0.1:5000 --out ring.json
      python -m experiments overlay snapshot 127.0.0.1:5000 --wait 30
      python -m experiments overlay snapshot --simulated --nodes 64 --seed 1
      python -m experiments overlay snapshot --simulated --latency transit-stub
    """
    from experiments.overlay import command

    if simulated == (address is not None):
        raise typer.BadParameter("give either the ADDRESS of a node or --simulated", param_hint="ADDRESS")
    _refuse(context, OF_REAL if simulated else OF_SIMULATED, "a simulated ring" if simulated else "a real ring")
    if address is None:
        command.take_simulated(out, nodes, seed, successors, vnodes, latency, as_json)
    elif not command.take_real(out, address, cluster, patience, wait, as_json):
        raise typer.Exit(FAILED)


OF_REAL = ("cluster", "wait", "patience")
OF_SIMULATED = ("nodes", "seed", "successors", "vnodes", "latency")


def _refuse(context: typer.Context, names: Sequence[str], of: str) -> None:
    """Raise BadParameter for an option that was given and would be passed over."""
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise typer.BadParameter(f"it says nothing of {of}; leave it out", param_hint=f"--{name}")


@overlay.command()
def metrics(
    snapshot: SnapshotFile,
    graphml: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the graph for other programs.")] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE.png", help="Draw it.")] = None,
    seed: Seed = 1,
    as_json: AsJson = False,
) -> None:
    """Measure a snapshot as a graph: an edge from each member to everybody that it passes lookups on to.

    \b
    hops            of lookups by Chord's rule: what users wait for
    shortest ways   by the same pointers: what a cleverer rule could save
    diameter        the longest of these
    in-degree       who would be missed, and refreshed, by how many
    lookups through it  the load that lookups of random keys put on a member
    betweenness     the same for shortest ways: members that are a bottleneck
    connectivity    algebraic: how many may fail before others are cut off
    spectral gap    near 0 for a graph about to fall into two

    Of rings of more than 1,024 members ways to 512 sampled keys are counted, and betweenness from 128 sampled members;
    of more than 2,048 there is no spectrum. Beyond some 10,000 use `python -m sim static`.

    \b
    Examples:
      python -m experiments overlay metrics ring.json
      python -m experiments overlay metrics ring.json --graphml ring.graphml
      python -m experiments overlay metrics ring.json --plot ring.png
    """
    from experiments.overlay import command

    command.metrics(snapshot, graphml, plot, seed, as_json)


@overlay.command()
def stretch(
    sources: Annotated[
        list[Path], typer.Argument(metavar="SNAPSHOT|RUN...", help="A snapshot, or directories of real runs.")
    ],
    latency: Annotated[
        Model | None, typer.Option(help="Underlay of a snapshot; by default the one it was taken with.")
    ] = None,
    lookups: Annotated[int, typer.Option(help="Lookups on a snapshot.", min=1, max=1_000_000)] = 2000,
    seed: Seed = 1,
    as_json: AsJson = False,
) -> None:
    """Tell what lookups take over what a question straight to the owner takes.

    On a snapshot it is reckoned, of lookups by members, with the latencies that the simulator gives the underlay. Of
    runs it is measured: round trips to the owner are those in their traces.

    \b
    Examples:
      python -m experiments overlay stretch ring.json --latency transit-stub
      python -m experiments overlay stretch runs/sweep --json
    """
    from experiments.overlay import command

    command.stretch(sources, latency, lookups, seed, as_json)


@overlay.command()
def compare(
    address: Annotated[
        str | None, typer.Argument(metavar="[ADDRESS]", help="A node of a ring that runs; without it one is started.")
    ] = None,
    nodes: Annotated[int, typer.Option(help="Processes of the ring that is started.", min=1, max=128)] = 16,
    successors: Successors = 8,
    vnodes: Vnodes = 1,
    lookups: Annotated[int, typer.Option(help="Names, in turn through each node.", min=1)] = 1000,
    mode: Annotated[str, typer.Option(help="iterative, recursive or both with a comma.")] = "iterative,recursive",
    seed: Seed = 1,
    cluster: Cluster = "ringcast",
    patience: Patience = 5.0,
    wait: Annotated[float, typer.Option(metavar="S", help="Wait so long for every finger to be right.")] = 60.0,
    host: Annotated[str, typer.Option(help="Address to be answered at by recursive lookups.")] = "127.0.0.1",
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Leave the snapshot there, and a run of each ring and mode.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Look the same names up through the same nodes of a real ring and of a simulated one of the same members.

    The simulated members are told nothing but their addresses, and join. Each lookup must take the same path in both,
    and as many hops as plain sorting makes of the real tables. Exit code 1 when one does not, or when some finger of
    the real ring was not right in time.

    \b
    Examples:
      python -m experiments overlay compare --nodes 16
      python -m experiments overlay compare --nodes 32 --successors 4 --json
      python -m experiments overlay compare 127.0.0.1:5000 --out runs/same
    """
    from experiments.overlay import command

    modes = []
    for each in filter(None, (word.strip() for word in mode.split(","))):
        if each not in list(Mode):
            raise LocalProtocolError(f"a lookup is {' or '.join(Mode)}, not {each!r}")
        modes.append(Mode(each))
    if not modes:
        raise LocalProtocolError(f"--mode names no lookup to compare; give {', '.join(Mode)}, or both")
    asked = command.Asked(lookups, modes, seed, patience, wait, out, host)
    started = command.Started(nodes, successors, vnodes)
    if not command.compare(address, cluster, started, asked, as_json):
        raise typer.Exit(FAILED)


@overlay.command()
def fit(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Runs of real rings to fit the model on.")],
    predict: Annotated[
        list[Path] | None, typer.Option(metavar="RUN", help="A run to predict; repeat it for more.")
    ] = None,
    within: Annotated[float, typer.Option(metavar="PERCENT", help="How far a p50 may be off.", min=0.0)] = 20.0,
    as_json: AsJson = False,
) -> None:
    """Fit a model of lookup latency on some real runs, and predict the p50 of others.

    The simulator tells the hops of a run, from its members, names and nodes first asked; the model what they take. No
    time of a run that is predicted is used: of a RUN that it lies in, it is left out. Without --predict each run is
    predicted from all others. Runs without a workload of 100 lookups or more are left out, and told. Exit code 1 when a
    prediction is further off than --within.

    \b
    Examples:
      python -m experiments overlay fit runs/a runs/b --predict runs/c
      python -m experiments overlay fit runs/sweep --json
    """
    from experiments.overlay import command

    if not command.fit(runs, predict or [], within / 100, as_json):
        raise typer.Exit(FAILED)
