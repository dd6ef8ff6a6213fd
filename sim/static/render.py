"""What `python -m sim static` draws. Imported only where it is drawn: rich is heavy."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from chord.amounts import counted
from sim.static.report import Report, Taken

BAR = 40
"""Characters of the longest bar."""

BETWEEN = 2
"""Characters between two columns."""


def report_table(report: Report, peak_mb: float) -> None:
    """One study: what lookups took, how they are distributed, and what the machine took for them."""
    options = report.options
    title = f"{counted(options.nodes, 'node')}, seed {options.seed}; simulated (static ring)"
    table = Table(title=title, show_header=False, min_width=len(title))
    table.add_column()
    table.add_column(justify="right")
    if options.vnodes > 1:
        table.add_row("members", f"{report.members:,}")
    table.add_row("identifiers", options.identifiers.value)
    if options.fail:
        table.add_row("living members", f"{report.living:,}")
    table.add_row("lookups", f"{options.lookups:,}")
    table.add_row("mean hops to the predecessor", f"{report.hops.mean:.3f}")
    if report.expected_hops is not None:
        table.add_row("half log2 N - 0.138", f"{report.expected_hops:.3f}")
    table.add_row("hops, 1st and 99th percentile", _edges(report.hops))
    if options.fail:
        table.add_row("mean time-outs", f"{report.timeouts.mean:.3f}")
        table.add_row("time-outs, 1st and 99th percentile", _edges(report.timeouts))
    table.add_row("failed lookups", f"{report.failed:,}")
    table.add_row("load over its mean, 1st and 99th percentile", f"{report.load_p1:.2f}, {report.load_p99:.2f}")
    table.add_row("the most that one node has", f"{report.load_most:.2f}")
    table.add_section()
    table.add_row("ring made in", f"{report.making_s:.2f} s")
    table.add_row("lookups took", f"{report.lookups_s:.2f} s")
    table.add_row(f"lookups per second ({options.engine.value}, 1 core)", f"{report.lookups_per_s:,.0f}")
    table.add_row("peak memory", f"{peak_mb:,.0f} MB")
    console = Console()
    console.print(table)
    console.print(_distribution("hops", report.hops, options.lookups, console.width))
    if options.fail:
        console.print(_distribution("time-outs", report.timeouts, options.lookups, console.width))


def _edges(taken: Taken) -> str:
    return f"{taken.p1}, {taken.p99}"


def _distribution(what: str, taken: Taken, lookups: int, width: int) -> Table:
    """So many lookups of each length, with bars that are as long as there is room for."""
    table = Table(box=None, pad_edge=False)
    table.add_column(what, justify="right")
    table.add_column("lookups", justify="right")
    table.add_column("share", justify="right")
    table.add_column("")
    rows = [(str(took), f"{count:,}", f"{count / lookups:.2%}") for took, count in taken.distribution.items()]
    taken_up = sum(max(map(len, column)) + BETWEEN for column in zip((what, "lookups", "share"), *rows, strict=True))
    longest = max(0, min(BAR, width - taken_up))
    most = max(taken.distribution.values())
    for row, count in zip(rows, taken.distribution.values(), strict=True):
        table.add_row(*row, "█" * round(longest * count / most))
    return table
