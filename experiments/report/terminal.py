"""An analysis as tables for a terminal of 80 columns. The only module here that knows `rich`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from experiments.analysis.summary import BROKEN, KEPT, SOURCE_NAMES, ClientCount, RingSize, Summary, Verdict

MOST_ROWS = 24

SPEED_OVER_S = 300.0
"""The time left is judged by so many seconds: what is told may come in large steps."""


@contextmanager
def progress_bar(time_left: bool = False) -> Iterator[Callable[[str, float, float], None]]:
    """A bar on standard error that goes away; yields what to call with (what is done, how much, of how much).

    It shows the time that has passed, and with `time_left` about how much is to come.
    """
    times = [TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn()] if time_left else [TimeElapsedColumn()]
    columns = TextColumn("{task.description:16}"), BarColumn(), TaskProgressColumn(), *times
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal, speed_estimate_period=SPEED_OVER_S
    ) as bar:
        task = bar.add_task("")

        def report(what: str, done: float, total: float) -> None:
            bar.update(task, description=what, completed=done, total=total or 1)

        yield report


def print_summary(summary: Summary, out: Path) -> None:
    """The tables on standard output, then where the files are."""
    console = Console(highlight=False)
    show(summary, console)
    console.print()
    console.print(Text(f"{out}: {', '.join(['summary.json', *summary.files])}", overflow="fold"))
    console.print(Text(f"analysed in {summary.elapsed_s['total']:.1f} s"))
    if summary.demo is not None:
        for line in verdict_lines(summary.demo):
            console.print(line)


def show(summary: Summary, console: Console) -> None:
    """Print every table that has rows, and a line about what could not be read."""
    for line in heading(summary):
        console.print(Text(line))
    for table in tables(summary):
        console.print()
        console.print(table)
    for line in notes(summary):
        console.print(Text(line, style="yellow"))


def heading(summary: Summary) -> list[str]:
    """What was analysed: one line a run, the last ones only if there are many."""
    lines = [
        f"{run['run']}: {SOURCE_NAMES[run['source']]}, {run['ring_size'] or 'unknown number of'} nodes, "
        f"commit {run['commit'][:12]}"
        for run in summary.runs[-MOST_ROWS:]
    ]
    counts = ", ".join(f"{count:,} {name} rows" for name, count in summary.rows.items() if count)
    still = sum(row.lookups for row in summary.static_rings)
    if still:
        counts = f"{counts}, {still:,} lookups in static rings".removeprefix(", ")
    return [*lines, counts or "no trace rows"]


def tables(summary: Summary) -> Iterator[Table]:
    """The tables, each within 80 columns."""
    several = len(summary.runs) > 1
    if summary.ring_sizes:
        yield _ring_sizes(summary)
    if summary.static_rings:
        yield _static_rings(summary)
    if summary.clients:
        yield _client_counts(summary)
    summary = _rest(summary)
    if summary.subscribers:
        yield _subscribers(summary, several)
    if summary.disseminations:
        yield _disseminations(summary, several)
    if summary.deliveries:
        yield _deliveries(summary, several)
    if summary.lookups:
        yield _lookups(summary, several)
        yield _lookup_latency(summary, several)
    if any(row.delivered_after_kill is not None for row in summary.subscribers) or any(
        row.after_kill is not None for row in summary.lookups
    ):
        yield _after_kill(summary, several)
    if summary.events:
        yield _events(summary, several)


def _rest(summary: Summary) -> Summary:
    """What the tables of runs side by side do not show."""
    sizes = {row.run for row in summary.ring_sizes}
    counts = {row.run for row in summary.clients}
    return replace(
        summary,
        subscribers=[row for row in summary.subscribers if row.run not in counts],
        disseminations=[row for row in summary.disseminations if row.run not in counts],
        deliveries=[row for row in summary.deliveries if row.run not in counts],
        lookups=[row for row in summary.lookups if row.run not in sizes | counts],
    )


def notes(summary: Summary) -> list[str]:
    """What was passed over while reading."""
    damage = summary.damage
    said = {
        "bad_rows": "{:,} rows in the wrong form were left out",
        "garbage": "{:,} stretches of garbage were passed over",
        "cut_tails": "{:,} files end inside a row, as after a kill",
        "unknown_rows": "{:,} rows of unknown kinds were left out",
        "newer_files": "{:,} files come from a newer version; rows may be missing",
    }
    lines = [text.format(damage[key]) for key, text in said.items() if damage.get(key)]
    return lines + [f"not read: {text}" for text in damage.get("unreadable", [])]


def verdict_lines(verdict: Verdict) -> Iterator[Text]:
    """What the demo checked, what did not hold, and how it ended."""
    if verdict.lookups_checked:
        yield Text(
            f"Of the lookups after the kill, {verdict.lookups_after_kill:,} were the demo's own random names, checked "
            f"against the survivors' identifiers: {verdict.wrong_after_kill} wrong or failed."
        )
    for failure in verdict.failures:
        yield Text(f"not kept: {failure}" if verdict.outcome == BROKEN else failure, style="bold red")
    ended = {KEPT: "every promise kept", BROKEN: "failed"}.get(verdict.outcome, verdict.outcome)
    yield Text(f"demo: {ended}, in {verdict.elapsed_s:.1f} s", style="bold")


def _ring_sizes(summary: Summary) -> Table:
    mixed = _mixed(summary.ring_sizes)
    names = _with_source(("mode",), mixed)
    table = _table("Lookups by ring size (hops; us until the owner is named)", False, *names, tight=mixed)
    _numbers(table, "N", "count", "failed", "mean", "p50", "p99", "half log2 N", "with list", "us p50", "us p99")
    for row in summary.ring_sizes[:MOST_ROWS]:
        hops, latency = row.hops, row.latency_us
        figures = (_decimal(hops.mean), _number(hops.p50), _number(hops.p99)) if hops else ("-",) * 3
        times = (_number(latency.p50), _number(latency.p99)) if latency else ("-",) * 2
        counts = map(_number, (row.ring_size, row.count, row.failed))
        expected = _decimal(row.half_log2), _decimal(row.expected_hops)
        told = _with_source((row.mode,), mixed, row.source)
        table.add_row(*told, *counts, *figures, *expected, *times, style="red" if row.failed else None)
    return _more(table, len(summary.ring_sizes), "ring_sizes.csv")


def _static_rings(summary: Summary) -> Table:
    table = _table("Path lengths in static rings (hops)", False, "mode")
    _numbers(table, "N", "lookups", "failed", "mean", "p50", "p99", "half log2 N - 0.138")
    for row in summary.static_rings[:MOST_ROWS]:
        counts = map(_number, (row.ring_size, row.lookups, row.failed))
        figures = (f"{row.hops.mean:.3f}", _number(row.hops.p50), _number(row.hops.p99))
        expected = "-" if row.expected_hops is None else f"{row.expected_hops:.3f}"
        table.add_row(row.mode, *counts, *figures, expected, style="red" if row.failed else None)
    return _more(table, len(summary.static_rings), "static_rings.csv")


def _client_counts(summary: Summary) -> Table:
    mixed = _mixed(summary.clients)
    table = _table("Deliveries by number of clients (latency in us)", False, *_with_source(("mode",), mixed))
    _numbers(table, "clients", "count", "lost", "mean", "p50", "p99", "max")
    for row in summary.clients[:MOST_ROWS]:
        latency = row.latency_us
        figures = (round(latency.mean), latency.p50, latency.p99, latency.max)
        values = map(_number, (row.clients, row.count, row.lost, *figures))
        names = _with_source((row.mode,), mixed, row.source)
        table.add_row(*names, *values, style="red" if row.lost else None)
    return _more(table, len(summary.clients), "clients.csv")


def _mixed(rows: Sequence[RingSize] | Sequence[ClientCount]) -> bool:
    """Whether what was measured and what was simulated, or the like, are side by side."""
    return len({row.source for row in rows}) > 1


def _with_source(names: tuple[str, ...], mixed: bool, source: str = "source") -> tuple[str, ...]:
    """The source comes first when rows have different ones."""
    return (source, *names) if mixed else names


def _subscribers(summary: Summary, several: bool) -> Table:
    names = ("subscriber", "topics") if any(len(row.topics) != 1 for row in summary.subscribers) else ("subscriber",)
    table = _table("Subscribers (latency in us)", several, *names)
    _numbers(table, "sent", "got", "lost", "twice", "p50", "p99", "max")
    for row in summary.subscribers[:MOST_ROWS]:
        latency = row.latency_us
        figures = (latency.p50, latency.p99, latency.max) if latency else (None, None, None)
        told = (row.run, row.name, str(len(row.topics)))[: len(names) + 1]
        values = (row.published, row.distinct, row.lost, row.duplicated, *figures)
        table.add_row(*_names(told, several), *map(_number, values), style="red" if row.lost else None)
    return _more(table, len(summary.subscribers), "subscribers.csv")


def _disseminations(summary: Summary, several: bool) -> Table:
    table = _table("By dissemination", several, "mode")
    _numbers(table, "subscribers", "sent", "got", "lost", "twice", "failover ms")
    for row in summary.disseminations[:MOST_ROWS]:
        values = (row.subscribers, row.published, row.distinct, row.lost, row.duplicated, row.failover_ms)
        table.add_row(*_names((row.run, row.mode), several), *map(_number, values), style="red" if row.lost else None)
    return _more(table, len(summary.disseminations), "disseminations.csv")


def _deliveries(summary: Summary, several: bool) -> Table:
    table = _table("Deliveries (latency in us)", several, "mode", "topic")
    _numbers(table, "count", "mean", "p50", "p99", "max")
    for row in summary.deliveries[:MOST_ROWS]:
        names = (row.run, row.mode, row.topic or "all topics")
        latency = row.latency_us
        values = (row.count, round(latency.mean), latency.p50, latency.p99, latency.max)
        table.add_row(*_names(names, several), *map(_number, values))
    return _more(table, len(summary.deliveries), "deliveries.csv")


def _lookups(summary: Summary, several: bool) -> Table:
    table = _table("Lookups (hops: forwards after the node first asked)", several, "mode")
    _numbers(table, "N", "count", "failed", "time outs", "mean", "p50", "p99", "half log2 N", "with list")
    for row in summary.lookups[:MOST_ROWS]:
        hops = row.hops
        figures = (_decimal(hops.mean), _number(hops.p50), _number(hops.p99)) if hops else ("-", "-", "-")
        counts = map(_number, (row.ring_size, row.count, row.failed, row.timeouts))
        expected = _decimal(row.half_log2), _decimal(row.expected_hops)
        style = "red" if row.failed else None
        table.add_row(*_names((row.run, row.mode), several), *counts, *figures, *expected, style=style)
    return _more(table, len(summary.lookups), "lookups.csv")


def _lookup_latency(summary: Summary, several: bool) -> Table:
    table = _table("Lookup latency (us)", several, "mode")
    _numbers(table, "N", "mean", "p50", "p99", "max", "owner step p50")
    for row in summary.lookups[:MOST_ROWS]:
        latency = row.latency_us
        figures = (round(latency.mean), latency.p50, latency.p99, latency.max) if latency else (None,) * 4
        values = (row.ring_size, *figures, row.owner_us_p50)
        table.add_row(*_names((row.run, row.mode), several), *map(_number, values))
    return _more(table, len(summary.lookups), "lookups.csv")


def _after_kill(summary: Summary, several: bool) -> Table:
    asked = any(row.after_kill for row in summary.lookups)
    whose = " (lookups: those of publishers and subscribers included)" if asked else ""
    table = _table(f"After the kill{whose}", several, "what")
    _numbers(table, "count")
    for subscriber in summary.subscribers[:MOST_ROWS]:
        if subscriber.delivered_after_kill is not None:
            names = (subscriber.run, f"delivered to {subscriber.name}")
            table.add_row(*_names(names, several), _number(subscriber.delivered_after_kill))
    for lookup in summary.lookups[:MOST_ROWS]:
        for outcome, count in (lookup.after_kill or {}).items():
            names = (lookup.run, f"{lookup.mode} lookups: {outcome}")
            table.add_row(*_names(names, several), _number(count))
    return table


def _events(summary: Summary, several: bool) -> Table:
    table = _table("Events (seconds since the start)", several, "kind")
    _numbers(table, "count", "first", "last")
    for row in summary.events[:MOST_ROWS]:
        figures = _number(row.count), f"{row.first_s:.1f}", f"{row.last_s:.1f}"
        table.add_row(*_names((row.run, row.kind), several), *figures)
    return _more(table, len(summary.events), "events.csv")


def _table(title: str, several: bool, *names: str, tight: bool = False) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", min_width=len(title))
    table.box, table.pad_edge, table.header_style = None, False, "dim"
    table.padding = (0, 1, 0, 0) if several or tight else (0, 1)
    for name in _names(("run", *names), several):
        table.add_column(name, overflow="ellipsis", no_wrap=True, max_width=28 if len(names) == 1 else 20)
    return table


def _numbers(table: Table, *names: str) -> None:
    for name in names:
        table.add_column(name, justify="right", min_width=max(map(len, name.split())))


def _names(names: tuple[str, ...], several: bool) -> tuple[str, ...]:
    """The run comes first when there is more than one."""
    return names if several else names[1:]


def _number(value: Any) -> str:
    return "-" if value is None else f"{value:,}"


def _decimal(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _more(table: Table, count: int, file: str) -> Table:
    if count > MOST_ROWS:
        table.caption = f"{count - MOST_ROWS:,} more in {file}"
    return table
