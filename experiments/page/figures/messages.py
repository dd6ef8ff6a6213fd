"""Samples on their way: what was lost and came twice, and latency in the application beside that on the wire."""

from __future__ import annotations

from collections import defaultdict
from statistics import median

from experiments.analysis.histogram import bucket
from experiments.analysis.summary import SOURCE_NAMES
from experiments.page.chart import LAW, REFERENCE, Axis, Dash, Figure, Panel, Series
from experiments.page.figures.histograms import steps_ms
from experiments.page.figures.told import by_source, name_of, runs_of, time, time_ticks, titled
from experiments.page.material import Material
from experiments.page.rows import Wire
from experiments.page.tables import Table

MOST_POINTS = 1_500
"""Of samples drawn one by one; the distributions count all."""


def app_and_wire(material: Material) -> Figure | None:
    """Both latencies of the same samples: their distributions, and one against the other; two panels a source."""
    samples = [row for row in material.wire if row.wire_us is not None]
    if not samples:
        return None
    apart = by_source(samples, lambda row: material.run(row.run).source)
    return Figure(
        name="app-and-wire",
        section="Messages",
        title="Latency in the application and on the wire",
        what="Of the same samples: from the publisher's call to the subscriber's, and from the packet that left the "
        "publisher's host to that which reached the subscriber's, captured with tshark. What lies between the two is "
        "spent in our processes and in the kernel.",
        finding=f"Medians: {'; '.join(_medians(source, own) for source, own in apart.items())}.",
        panels=[panel for source, own in apart.items() for panel in (_both(source, own), _pairs(source, own))],
        counts=f"{len(samples):,} samples of {len(material.wire):,} were seen at both ends",
        **runs_of(material, (row.run for row in samples)),
    )


def losses(material: Material) -> Table | None:
    """What was sent, got, lost and got twice, by run and dissemination."""
    groups: dict[tuple[str, str], list[int | None]] = {}
    subscribers: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in material.flows:
        key = row.run, row.dissemination
        sums = groups.setdefault(key, [0, 0, 0, 0])
        values = (row.published, row.distinct, row.lost, row.duplicated)
        groups[key] = [None if None in (a, b) else (a or 0) + (b or 0) for a, b in zip(sums, values, strict=True)]
        subscribers[key].add(row.subscriber)
    if not groups:
        return None
    rows = [
        [run, mode, f"{len(subscribers[run, mode]):,}", *("–" if value is None else f"{value:,}" for value in sums)]
        for (run, mode), sums in sorted(groups.items())
    ]
    columns = ("run", "dissemination", "subscribers", "sent (by subscriber)", "got", "lost", "twice")
    return Table("Samples", columns, rows)


def _medians(source: str, samples: list[Wire]) -> str:
    app, wire = (median(getattr(row, name) for row in samples) for name in ("app_us", "wire_us"))
    return f"{time(app)} in the application, {time(wire)} on the wire ({SOURCE_NAMES[source]})"


def _both(source: str, samples: list[Wire]) -> Panel:
    series = []
    for colour, (name, words) in enumerate((("app_us", "application"), ("wire_us", "wire"))):
        histogram: dict[int, int] = defaultdict(int)
        for row in samples:
            histogram[bucket(round(getattr(row, name)))] += 1
        x, y = steps_ms(histogram)
        dash: Dash = "dash" if colour else "solid"
        series.append(
            Series(name=name_of(source, words), source=source, x=x, y=y, style="steps", colour=colour, dash=dash)
        )
    ends = [float(place) for one in series for place in (one.x[0], one.x[-1])]
    return Panel(
        title=titled(source, "Distributions"),
        x=Axis(title="latency (ms, logarithmic)", scale="log", ticks=time_ticks(min(ends), max(ends))),
        y=Axis(title="share of samples (%)", share=True, least=0, most=1.01),
        series=series,
    )


def _pairs(source: str, samples: list[Wire]) -> Panel:
    every = max(1, -(-len(samples) // MOST_POINTS))
    shown = samples[::every]
    x, y = ([max(1.0, getattr(row, name)) / 1e3 for row in shown] for name in ("wire_us", "app_us"))
    ends = [min([*x, *y]), max([*x, *y])]
    ticks = time_ticks(*ends)
    said = [f"{row.topic} #{row.sequence}" for row in shown]
    words = "a sample" if every == 1 else f"one sample of {every}"
    points = Series(name=name_of(source, words), source=source, x=x, y=y, said=said, style="points", colour=2)
    same = Series(name="the same on both", source=LAW, x=ends, y=ends, style="line", colour=REFERENCE, dash="dot")
    return Panel(
        title=titled(source, "Sample by sample"),
        x=Axis(title="latency on the wire (ms, logarithmic)", scale="log", ticks=ticks),
        y=Axis(title="latency in the application (ms, logarithmic)", scale="log", ticks=ticks),
        series=[points, same],
    )
