"""Draws an analysis as PNG files: hop counts, latencies, both against ring size or clients, and the time line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure

from experiments.analysis.summary import SOURCE_NAMES, Summary
from experiments.report import plots

SIZE_INCHES = (8.0, 4.8)
DOTS_PER_INCH = 130
MOST_PANELS = 6
HOPS = "forwards after the node first asked, up to the key's predecessor"


def draw(summary: Summary, out: Path) -> list[str]:
    """Write every figure there is data for into `out`; return their names. Figures of an earlier analysis go."""
    out.mkdir(parents=True, exist_ok=True)
    names = []
    for name, make in _figures().items():
        path = out / f"{name}.png"
        path.unlink(missing_ok=True)
        figure = make(summary)
        if figure is not None:
            figure.savefig(path, dpi=DOTS_PER_INCH)
            names.append(path.name)
    return names


def hops(summary: Summary) -> Figure | None:
    """One panel a run: the distribution of hops, its mean, and half log2 N."""
    rows = [row for row in summary.lookups if row.hops is not None and row.run not in _about_clients(summary)]
    runs = list(dict.fromkeys(row.run for row in rows))[-MOST_PANELS:]
    if not runs:
        return None
    figure, axes = _panels(len(runs))
    for axis, run in zip(axes, runs, strict=False):
        own = [row for row in rows if row.run == run]
        plots.hop_bars(axis, own, [row for row in summary.hops if row.run == run])
    _title(figure, summary, runs, "Hops of a lookup", HOPS)
    return figure


def latency(summary: Summary) -> Figure | None:
    """Cumulative latencies: a panel of deliveries and one of lookups, as far as there are any."""
    about_clients = _about_clients(summary)
    points = [point for point in summary.latency if point.table == "delivery" or point.run not in about_clients]
    tables = [name for name in ("delivery", "lookup") if any(point.table == name for point in points)]
    if not tables:
        return None
    figure, axes = _panels(len(tables))
    for axis, table in zip(axes, tables, strict=False):
        plots.latency_steps(axis, table, [point for point in points if point.table == table])
    runs = list(dict.fromkeys(point.run for point in points))
    _title(figure, summary, runs, "Latency", "share of all that took so long or less; points at 50 % and 99 %")
    return figure


def ring_sizes(summary: Summary) -> Figure | None:
    """Hops and latency against ring size, when there is more than one size."""
    rows = [row for row in summary.ring_sizes if row.hops is not None]
    if not rows:
        return None
    figure, axes = _panels(2)
    plots.hops_by_ring_size(axes[0], rows)
    plots.latency_by_ring_size(axes[1], rows)
    _title(figure, summary, [row.run for row in rows], "Lookups against ring size", f"hops: {HOPS}")
    return figure


def clients(summary: Summary) -> Figure | None:
    """Delivery latency against the number of clients."""
    if not summary.clients:
        return None
    figure, axes = _panels(1)
    plots.latency_by_clients(axes[0], summary.clients)
    runs = [row.run for row in summary.clients]
    _title(figure, summary, runs, "Deliveries against clients", "publisher to subscriber; half of the clients are each")
    return figure


def timeline(summary: Summary) -> Figure | None:
    """What happened by the second in the run with a kill, else in the only run."""
    killed = [run for run in summary.runs if run.get("kill_us")]
    chosen = killed[:1] or (summary.runs if len(summary.runs) == 1 else [])
    points = [point for point in summary.timeline if chosen and point.run == chosen[0]["run"]]
    if len({point.second for point in points}) < 3:
        return None
    figure, axes = _panels(1)
    run = chosen[0]
    kills = {"node": run.get("kill_us"), "primary": run.get("primary_kill_us")}
    plots.by_second(axes[0], points, {who: (at - run["started_us"]) / 1e6 for who, at in kills.items() if at})
    _title(figure, summary, [chosen[0]["run"]], "Time line", "counted by the second from the start of the run")
    return figure


def _about_clients(summary: Summary) -> set[str]:
    """The runs whose lookups are only those that clients make when they start."""
    return {run["run"] for run in summary.runs if run.get("clients") is not None}


def _figures() -> dict[str, Callable[[Summary], Figure | None]]:
    return {"hops": hops, "latency": latency, "ring-sizes": ring_sizes, "clients": clients, "timeline": timeline}


def _panels(count: int) -> tuple[Figure, list[plots.Axes]]:
    columns = min(count, 3)
    rows = -(-count // columns)
    width = SIZE_INCHES[0] * (1.0, 1.5, 1.9)[columns - 1]
    figure = Figure(figsize=(width, SIZE_INCHES[1] * (1 if rows == 1 else 0.85 * rows)), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    axes = [axis for row in grid for axis in row]
    for spare in axes[count:]:
        spare.set_visible(False)
    return figure, axes[:count]


def _title(figure: Figure, summary: Summary, runs: list[str], title: str, what: str) -> None:
    """The title, what is counted, and where the data is from: simulated data must not pass for measured."""
    sources = {run["source"] for run in summary.runs if run["run"] in runs}
    source = ", ".join(sorted(SOURCE_NAMES[source] for source in sources))
    figure.suptitle(f"{title} ({source})\n", fontsize=13, fontweight="bold")
    figure.text(0.5, 1 - 0.36 / figure.get_figheight(), what, ha="center", va="top", fontsize=9, color="0.35")
