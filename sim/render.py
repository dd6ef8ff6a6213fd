"""What `python -m sim` draws. Imported only where something is drawn: rich is heavy."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from sim.run import Report
from sim.scheduler import minutes

FAULTS_SHOWN = 10


def report_table(report: Report) -> None:
    """One run: what converged when, and how the lookups went."""
    table = Table(title=f"{report.nodes} nodes joining at once, seed {report.seed} (virtual time)", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    table.add_row("ideal ring after", _time(report.converged_s))
    if report.crashes:
        table.add_row(f"again after {report.crashes} crashes", _time(report.reconverged_s))
    table.add_row("lookups", str(report.lookups))
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


def _time(time_s: float | None) -> str:
    return "never" if time_s is None else f"{time_s:.2f} s"
