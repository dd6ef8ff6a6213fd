"""`python -m sim campaign`: chaos, many runs."""

from __future__ import annotations

import signal
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from sim.campaign import Totals, runs
from sim.exits import FAILED, INTERRUPTED, NOT_CONVERGED, UNSAFE
from sim.render import failure_line, totals_table


def campaign(
    count: Annotated[int, typer.Option("--runs", help="How many seeds.", min=1)] = 2000,
    first: Annotated[int, typer.Option(help="The first seed.", min=0)] = 1,
    jobs: Annotated[int, typer.Option(help="Processes that run side by side.", min=1, max=256)] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Many chaos runs, each as `python -m sim --seed N`; totals at the end, and the seeds that failed.

    Ctrl-C ends it with the totals so far, and so does whoever kills one of its processes. Exit codes: 0 all held in
    every run, 1 a run was unsafe (others may have been stuck as well) or a process was killed, 2 usage, 3 a run was
    stuck and none unsafe, 130 interrupted.

    \b
    Examples:
      python -m sim campaign --runs 2000
      python -m sim campaign --runs 100000 --jobs 4 --json
      python -m sim campaign --first 7 --runs 1  # as `python -m sim --seed 7`
    """
    totals = Totals()
    early = _run(totals, first, count, jobs)
    if as_json:
        print(msgspec.json.format(msgspec.json.encode(totals), indent=2).decode())
    elif totals.runs or not early:
        totals_table(totals, Console())
    if early:
        typer.echo(_how_it_ended(early, totals.runs, first, count, jobs), err=True)
        raise typer.Exit(early)
    if totals.unsafe:
        raise typer.Exit(UNSAFE)
    if totals.stuck:
        raise typer.Exit(NOT_CONVERGED)


def _how_it_ended(early: int, done: int, first: int, count: int, jobs: int) -> str:
    """Why a campaign ended before its last run, after which, and how to go on."""
    killed = early == FAILED
    why = f"error: one of {min(jobs, count)} processes was killed" if killed else "interrupted"
    advice = ["fewer --jobs take less memory"] if killed else []
    if not done:
        return "; ".join([f"{why} before the first run", *advice])
    return f"{why} after {done} of {count} runs; " + ", and ".join(
        [f"--first {first + done} --runs {count - done} goes on", *advice]
    )


def _run(totals: Totals, first: int, count: int, jobs: int) -> int:
    """Take all runs into the totals, with a bar on standard error; an exit code other than 0 if that ended early."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        bar = progress.add_task("runs", total=count)
        try:
            with closing(runs(first, count, jobs)) as verdicts:
                for verdict in verdicts:
                    totals.add(verdict)
                    if verdict.verdict != "ok":
                        progress.console.print(failure_line(verdict), markup=False)
                    progress.advance(bar)
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # what is left takes no time
            return INTERRUPTED
        except BrokenProcessPool:
            return FAILED
    return 0
