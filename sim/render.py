"""What `python -m sim` draws. Imported only where something is drawn: rich is heavy."""

from __future__ import annotations

import msgspec
from rich.console import Console
from rich.table import Table

from chord.amounts import counted
from sim.campaign import Totals
from sim.plan import Plan
from sim.run import Report
from sim.scheduler import minutes
from sim.stage import Verdict

FAULTS_SHOWN = 10


def report_table(report: Report) -> None:
    """One run: what converged when, and how the lookups went."""
    table = _table(f"{counted(report.nodes, 'node')} joining at once, seed {report.seed} (virtual time)")
    table.add_row("ideal ring after", _time(report.converged_s))
    if report.crashes:
        table.add_row(f"again after {counted(report.crashes, 'crash', 'crashes')}", _time(report.reconverged_s))
    table.add_row("lookups", str(report.lookups))
    if report.lookups:
        table.add_row("mean hops", f"{report.mean_hops:.2f}")
        table.add_row("half log2 N", f"{report.half_log2_n:.2f}")
    table.add_row("time-outs", str(report.timeouts))
    table.add_row("wrong owners", str(report.wrong_owners))
    table.add_row("failed lookups", str(report.failed))
    table.add_row("messages", str(report.messages))
    table.add_row("run ended at", minutes(report.virtual_s))
    console = Console()
    console.print(table)
    for fault in report.faults[:FAULTS_SHOWN]:
        console.print(f"not ideal: {fault}", markup=False)
    if len(report.faults) > FAULTS_SHOWN:
        console.print(f"and {len(report.faults) - FAULTS_SHOWN} more")


def verdict_table(verdict: Verdict, console: Console) -> None:
    """One chaos run: what was done to the ring, and whether all held."""
    table = _table(f"chaos of seed {verdict.seed}, style {verdict.style} (virtual time)")
    table.add_row("verdict", verdict.verdict)
    table.add_row("processes at the start", str(verdict.start))
    for kind, times in sorted(verdict.faults.items()):
        table.add_row(f"faults: {kind}", str(times))
    for what, times in sorted(verdict.left_out.items()):
        table.add_row(f"left out: {what}", str(times))
    for kind, times in sorted(verdict.added.items()):
        table.add_row(f"  instead of what was left out: {kind}", str(times))
    for kind, times in sorted(verdict.asked.items()):
        table.add_row(f"asked: {kind}", str(times))
    table.add_row("writes acknowledged", str(verdict.acknowledged))
    table.add_row("deliveries", str(verdict.deliveries))
    table.add_row("frames lost", str(verdict.lost))
    table.add_row("states judged", str(verdict.checks))
    table.add_row("ideal after healing", _time(verdict.healed_s))
    table.add_row("run ended at", minutes(verdict.virtual_s))
    console.print(table)
    for finding in verdict.findings:
        console.print(f"{verdict.verdict}: {finding}", markup=False)


def plan_lines(plan: Plan, console: Console) -> None:
    """A plan that fails, shrunk: the ring, then one line an action."""
    described = {key: value for key, value in msgspec.to_builtins(plan).items() if key not in ("actions", "seed")}
    console.print(f"shrunk plan of seed {plan.seed}: {described}", markup=False)
    for action in plan.actions:
        times = f" x{action.times}" if action.times > 1 else ""
        lasting = f" for {action.seconds} s" if action.seconds else ""
        one_way = " one way" if action.one_way else ""
        console.print(f"  {action.at:7.3f} s  {action.kind}{times}{lasting}{one_way}  ({action.number})", markup=False)


def totals_table(totals: Totals, console: Console) -> None:
    """All runs of a campaign: what became of them, what was done to them and asked of them, and which failed."""
    table = _table(f"{counted(totals.runs, 'chaos run')} (virtual time)")
    table.add_row("unsafe", f"{totals.unsafe:,}")
    table.add_row("stuck", f"{totals.stuck:,}")
    table.add_section()
    table.add_row("faults injected", f"{sum(totals.faults.values()):,}")
    table.add_row("  in the run with fewest", str(totals.least_faults or 0))
    for kind, times in sorted(totals.faults.items()):
        table.add_row(f"  {kind}", f"{times:,}")
    table.add_section()
    table.add_row("questions asked", f"{sum(totals.asked.values()):,}")
    for kind, times in sorted(totals.asked.items()):
        table.add_row(f"  {kind}", f"{times:,}")
    table.add_row("writes acknowledged", f"{totals.acknowledged:,}")
    table.add_section()
    table.add_row("deliveries", f"{totals.deliveries:,}")
    table.add_row("  in the run with fewest", str(totals.least_deliveries or 0))
    table.add_row("states judged", f"{totals.checks:,}")
    table.add_row("virtual time", minutes(totals.virtual_s))
    table.add_section()
    table.add_row("runs by style", ", ".join(f"{style} {count}" for style, count in sorted(totals.styles.items())))
    table.add_row("runs by processes at the start", ", ".join(f"{n}: {c}" for n, c in sorted(totals.starts.items())))
    console.print(table)
    for kind, count in (("unsafe", totals.unsafe), ("stuck", totals.stuck)):
        kept = [verdict for verdict in totals.failures if verdict.verdict == kind]
        for verdict in kept:
            console.print(failure_line(verdict), markup=False)
        if len(kept) < count:
            console.print(f"and {count - len(kept)} more that are {kind}", markup=False)


def failure_line(verdict: Verdict) -> str:
    """A run that failed: its seed, how, and all that was found."""
    found = "; ".join(verdict.findings).replace(":; ", ": ").replace("\n", " ")
    return f"seed {verdict.seed}: {verdict.verdict}: {found}"


def _table(title: str) -> Table:
    """Names and figures, at least as wide as the title, which would be broken into lines otherwise."""
    table = Table(title=title, show_header=False, min_width=len(title))
    table.add_column()
    table.add_column(justify="right")
    return table


def _time(time_s: float | None) -> str:
    return "never" if time_s is None else f"{time_s:.2f} s"
