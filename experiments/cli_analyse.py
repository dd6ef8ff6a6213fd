"""`python -m experiments analyse` and `prepare`: what Spark counts in the traces of runs."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from chord.errors import LocalProtocolError

WINDOW_S = 10.0
LATE_S = 600.0


def analyse(
    directories: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Runs: run.json beside traces/, or trace files alone.")
    ],
    master: Annotated[
        str, typer.Option(help="Where Spark runs: local[2], local[*], or a cluster such as spark://HOST:7077.")
    ] = "local[2]",
    conf: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting of Spark; may be given repeatedly.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print summary.json instead of tables; with --watch, a line a window.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="Where results go; by default RUN/analysis, or runs/analysis for several runs."),
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Count by window what runs grow by, until Ctrl-C.")] = False,
    window: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Length of a window (--watch); by default 10."),
    ] = None,
    late: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="How far behind the latest row one may be and still count (--watch); by default 600.",
        ),
    ] = None,
    until_idle: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="End once nothing new came for so long (--watch)."),
    ] = None,
) -> None:
    """Count the traces of runs with Spark: tables here; gold tables, summary.json, CSV and figures in RUN/analysis.

    Of a run that was analysed before, only what is new is read. A cluster has to see the same files as this machine.

    With --watch, runs may still grow, or not be there yet: the windowed table in RUN/analysis/watch/windows follows
    them. Killed or ended, the same command goes on where it was; no row counts twice (docs/pipeline.md).

    \b
    Examples:
      python -m experiments analyse runs/demo
      python -m experiments analyse traces  # of `dht lookup --trace traces`
      python -m experiments analyse runs/sweep --out report --master 'local[*]'
      python -m experiments analyse runs/a --master spark://127.0.0.1:7077
      python -m experiments analyse runs/demo --json | jq '.lookups[].hops'
      python -m experiments analyse runs/sweep --watch
      python -m experiments analyse runs/sweep --watch --json --until-idle 30

    Exit codes: 0 done, 1 failed, 2 usage, 130 interrupted.
    """
    from experiments.analyse import analyse as work
    from experiments.report.terminal import print_summary, progress_bar
    from experiments.spark.settings import parse_conf
    from experiments.traces.run import parts

    where = out or (directories[0] / "analysis" if len(directories) == 1 else Path("runs/analysis"))
    settings = parse_conf(conf or [])
    if watch:
        _watch(directories, where, master, settings, as_json, window, late, until_idle)
        return
    for name, value in (("--window", window), ("--late", late), ("--until-idle", until_idle)):
        if value is not None:
            raise LocalProtocolError(f"{name} is of --watch; give both, or neither")
    for directory in directories:
        parts(directory)  # what is no run is told before a bar is drawn
    with progress_bar() as progress:
        summary = work(directories, master, where, progress, conf=settings)
    if as_json:
        sys.stdout.buffer.write(summary.as_json())
        sys.stdout.flush()
    else:
        print_summary(summary, where)


def _watch(
    directories: Sequence[Path],
    out: Path,
    master: str,
    conf: Mapping[str, str],
    as_json: bool,
    window: float | None,
    late: float | None,
    until_idle: float | None,
) -> None:
    from experiments.watch.display import display_for, ending
    from experiments.watch.watching import Options
    from experiments.watch.watching import watch as work

    options = Options(
        master=master,
        conf=conf,
        window_s=WINDOW_S if window is None else window,
        late_s=LATE_S if late is None else late,
        until_idle_s=until_idle,
    )
    with display_for(directories, as_json) as display:
        state = work(directories, out, options, display)
    for line in ending(state, out):
        typer.echo(line, err=as_json)


def prepare() -> None:
    """Have later analyses start some seconds sooner: keep the Java classes they load (160 MB in this environment).

    \b
    Example:
      python -m experiments prepare
    """
    from experiments.prepare import prepare as work

    archive = work()
    typer.echo(f"{archive}: {archive.stat().st_size:,} bytes")
