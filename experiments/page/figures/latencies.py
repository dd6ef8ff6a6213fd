"""How long lookups and deliveries take: cumulative distributions, against ring size, and against clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from experiments.analysis.histogram import Histogram
from experiments.page.chart import Axis, Dash, Figure, Panel, Series
from experiments.page.figures.histograms import gathered, latency_us, steps_ms, total
from experiments.page.figures.told import by_source, name_of, number_ticks, runs_of, time, time_ticks, titled
from experiments.page.material import SIMULATED, Material

MOST_LINES = 8
SHARES = {"median": 0.50, "99th percentile": 0.99}
WITHIN = "Percentiles come from 64 buckets an octave: within 0.6 %."


class Point(NamedTuple):
    """What one histogram belongs to: a number to be drawn against, or a run, and how it is told apart."""

    source: str
    mode: str
    at: float | str


Latencies = Mapping[Point, Histogram]


def latency_cdf(material: Material) -> Figure | None:
    """Lookups and deliveries, a panel for each source, as far as there are any; runs about clients only in the latter.

    Of more than MOST_LINES runs those are drawn that count most.
    """
    about_clients = {run.name for run in material.runs if run.clients is not None}
    lookups = gathered(
        (row for row in material.lookup_latency if row.step == "lookup" and row.run not in about_clients),
        lambda row: Point(row.source, row.mode, row.run),
        lambda row: row.bucket,
    )
    deliveries = _deliveries(material)
    panels, findings, counts, runs = [], [], [], []
    for what, found in (("lookups", lookups), ("deliveries", deliveries)):
        drawn = 0
        for source, points in by_source(found, lambda point: point.source).items():
            most = sorted(points, key=lambda point: -sum(found[point].values()))[:MOST_LINES]
            shown = {point: found[point] for point in sorted(most)}
            panels.append(_steps(source, what, shown))
            findings.append(_range(name_of(source, what), shown))
            drawn += total(shown.values())
            runs += [str(point.at) for point in shown]
        counts += [f"{drawn:,} {what}"] if drawn else []
    if not panels:
        return None
    return Figure(
        name="latency-cdf",
        section="Latency",
        title="How long lookups and deliveries take",
        what="Cumulative distributions: the share of all that took so long or less. A lookup ends when its owner is "
        f"named, a delivery when the subscriber has the sample. {WITHIN}",
        finding=" ".join(findings),
        panels=panels,
        counts=", ".join(counts),
        **runs_of(material, runs),
    )


def latency_by_ring_size(material: Material) -> Figure | None:
    """Median and 99th percentile of lookups by ring size, where there is more than one."""
    about_clients = {run.name for run in material.runs if run.clients is not None}
    chosen = [
        row
        for row in material.lookup_latency
        if row.step == "lookup" and row.ring_size and row.run not in about_clients
    ]
    found = gathered(chosen, lambda row: Point(row.source, row.mode, row.ring_size or 0), lambda row: row.bucket)
    if len({point.at for point in found}) < 2:
        return None
    return Figure(
        name="latency-by-size",
        section="Latency",
        title="Lookup latency against ring size",
        what=f"Time until the owner is named, both axes logarithmic. {WITHIN}",
        finding=_by_number(found, "N"),
        panels=[_against(found, "ring size N (virtual nodes, logarithmic)", "lookup latency (ms, logarithmic)")],
        counts=f"{total(found.values()):,} lookups",
        **runs_of(material, (row.run for row in chosen)),
    )


def latency_by_clients(material: Material) -> Figure | None:
    """Median and 99th percentile of deliveries by the number of clients, direct beside brokered."""
    clients = {run.name: run.clients for run in material.runs if run.clients is not None}
    chosen = [row for row in material.delivery if row.run in clients]
    found = gathered(
        chosen,
        lambda row: Point(material.run(row.run).source, row.dissemination, clients[row.run] or 0),
        lambda row: row.bucket,
    )
    if not found:
        return None
    return Figure(
        name="latency-by-clients",
        section="Messages",
        title="Delivery latency against clients, direct beside brokered",
        what=f"From publisher to subscriber; half of the clients are each. Both axes are logarithmic. {WITHIN}",
        finding=_by_number(found, "clients"),
        panels=[
            _against(found, "clients (publishers and subscribers, logarithmic)", "delivery latency (ms, logarithmic)")
        ],
        counts=f"{total(found.values()):,} deliveries",
        **runs_of(material, (row.run for row in chosen)),
    )


def _deliveries(material: Material) -> dict[Point, dict[int, int]]:
    return gathered(
        material.delivery,
        lambda row: Point(material.run(row.run).source, row.dissemination, row.run),
        lambda row: row.bucket,
    )


def _steps(source: str, what: str, found: Latencies) -> Panel:
    series = []
    for colour, (point, histogram) in enumerate(found.items()):
        x, y = steps_ms(histogram)
        told = f"p50 {time(latency_us(histogram, 0.5))}, p99 {time(latency_us(histogram, 0.99))}"
        name = name_of(point.source, str(point.at), f"{point.mode}: {told}")
        dash: Dash = "solid" if colour % 2 == 0 else "dash"
        series.append(Series(name=name, source=point.source, x=x, y=y, style="steps", colour=colour, dash=dash))
    ends = [place for one in series for place in (one.x[0], one.x[-1])]
    ticks = time_ticks(min(map(float, ends)), max(map(float, ends)))
    return Panel(
        title=titled(source, what.capitalize()),
        x=Axis(title=f"latency of {what} (ms, logarithmic)", scale="log", ticks=ticks),
        y=Axis(title=f"share of {what} (%)", share=True, least=0, most=1.01),
        series=series,
    )


def _against(found: Latencies, x_title: str, y_title: str) -> Panel:
    kinds = sorted({(point.source, point.mode) for point in found})
    series = []
    for colour, (source, mode) in enumerate(kinds):
        own = sorted((float(point.at), histogram) for point, histogram in found.items() if point[:2] == (source, mode))
        for name, share in SHARES.items():
            series.append(
                Series(
                    name=name_of(source, mode, name),
                    source=source,
                    x=[at for at, _ in own],
                    y=[latency_us(histogram, share) / 1e3 for _, histogram in own],
                    said=[f"{sum(histogram.values()):,} counted" for _, histogram in own],
                    colour=colour,
                    dash="solid" if name == "median" else "dash",
                    symbol=("circle" if name == "median" else "triangle-up") + ("-open" if source in SIMULATED else ""),
                )
            )
    values = [value for one in series for value in one.y if value is not None]
    return Panel(
        title="",
        x=Axis(title=x_title, scale="log", ticks=number_ticks(float(point.at) for point in found)),
        y=Axis(title=y_title, scale="log", ticks=time_ticks(min(values), max(values))),
        series=series,
    )


def _range(what: str, found: Latencies) -> str:
    medians = sorted(latency_us(histogram, 0.5) for histogram in found.values())
    slow = sorted(latency_us(histogram, 0.99) for histogram in found.values())
    return (
        f"Half of the {what} took {_between(medians)} or less, all but one in a hundred {_between(slow)} or less, "
        f"by run."
        if len(found) > 1
        else f"Half of the {what} took {time(medians[0])} or less, all but one in a hundred {time(slow[0])} or less."
    )


def _between(values: Sequence[float]) -> str:
    return time(values[0]) if values[0] == values[-1] else f"{time(values[0])} to {time(values[-1])}"


def _by_number(found: Latencies, what: str) -> str:
    """The median at the least and the greatest number, of each kind."""
    told = []
    for source, mode in sorted({(point.source, point.mode) for point in found}):
        own = sorted((float(point.at), histogram) for point, histogram in found.items() if point[:2] == (source, mode))
        ends = [f"{time(latency_us(histogram, 0.5))} at {at:,.0f}" for at, histogram in (own[0], own[-1])]
        told.append(f"{name_of(source, mode)}: {' and '.join(dict.fromkeys(ends))} {what}")
    return f"Medians. {'; '.join(told)}."
