"""Who carries the lookups: nodes by what went through them, in-degree, hot keys, and the slowest lookups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from experiments.analysis.summary import SOURCE_NAMES
from experiments.page.chart import LAW, REFERENCE, Axis, Figure, Panel, Series
from experiments.page.figures.told import by_source, name_of, runs_of, time, titled
from experiments.page.material import Material
from experiments.page.rows import HotKey, NodeLoad, Slowest

MOST_RUNS = 6
MOST_KEYS = 15
MOST_SLOW = 12
"""Of each source."""

Loads = Mapping[str, Sequence[NodeLoad]]
"""Of each run its nodes, the busiest first."""


def node_load(material: Material) -> Figure | None:
    """Lookups through each node, the busiest first, and how many others know it: a panel for each source."""
    rows = [row for row in material.node_load if row.lookups_routed]
    apart = by_source(dict.fromkeys(row.run for row in rows), lambda name: material.run(name).source)
    shown = {source: {name: _busiest_first(rows, name) for name in own[:MOST_RUNS]} for source, own in apart.items()}
    if not shown:
        return None
    loads = [_loads(source, own) for source, own in shown.items()]
    degrees = [_degrees(source, own) for source, own in shown.items()]
    runs = {name: own for of_source in shown.values() for name, own in of_source.items()}
    busiest = [f"{_over_mean(own)[0]:.2f} in {name}" for name, own in runs.items()]
    return Figure(
        name="node-load",
        section="Keys and load",
        title="Load of the nodes",
        what="How many lookups each node answered on their way, over the mean of its run.",
        finding=f"The busiest node over the mean: {', '.join(busiest)}.",
        panels=[*loads, *(panel for panel in degrees if panel.series)],
        counts=f"{sum(row.lookups_routed for own in runs.values() for row in own):,} steps of lookups",
        **runs_of(material, runs),
    )


def hot_keys(material: Material) -> Figure | None:
    """The keys that were looked up most, of all runs of a source."""
    apart = by_source(sorted(material.hot_keys, key=lambda row: -row.count), lambda row: material.run(row.run).source)
    shown = {source: own[:MOST_KEYS] for source, own in apart.items()}
    if not shown:
        return None
    rows = [row for own in shown.values() for row in own]
    most = [
        f"Key {own[0].name or own[0].key} was looked up {own[0].count:,} times ({SOURCE_NAMES[source]})."
        for source, own in shown.items()
    ]
    return Figure(
        name="hot-keys",
        section="Keys and load",
        title="Hot keys",
        what="The keys that were looked up most; the longest bar first.",
        finding=" ".join(most),
        panels=[_hot(source, own) for source, own in shown.items()],
        counts=f"{sum(row.count for row in rows):,} lookups of {len({row.key for row in rows})} keys",
        **runs_of(material, (row.run for row in rows)),
    )


def slowest(material: Material) -> Figure | None:
    """The slowest lookups of all runs of a source, with the way they went."""
    apart = by_source(
        sorted(material.slowest, key=lambda row: -row.duration_us), lambda row: material.run(row.run).source
    )
    shown = {source: own[:MOST_SLOW] for source, own in apart.items()}
    if not shown:
        return None
    rows = [row for own in shown.values() for row in own]
    longest = [
        f"The slowest took {time(own[0].duration_us)} ({SOURCE_NAMES[source]}): {own[0].path}."
        for source, own in shown.items()
    ]
    return Figure(
        name="slowest",
        section="Latency",
        title="The slowest lookups",
        what="Their durations; the table has the way that each went, node by node.",
        finding=" ".join(longest),
        panels=[_slow(source, own) for source, own in shown.items()],
        counts=f"{len(rows)} lookups",
        **runs_of(material, (row.run for row in rows)),
    )


def _busiest_first(rows: Sequence[NodeLoad], run: str) -> list[NodeLoad]:
    return sorted((row for row in rows if row.run == run), key=lambda row: -row.lookups_routed)


def _over_mean(own: Sequence[NodeLoad]) -> list[float]:
    middle = sum(row.lookups_routed for row in own) / len(own)
    return [row.lookups_routed / middle for row in own]


def _loads(source: str, runs: Loads) -> Panel:
    series = [
        Series(
            name=name_of(source, name),
            source=source,
            x=[(place + 0.5) / len(own) for place in range(len(own))],
            y=_over_mean(own),
            said=[f"{row.node} {row.address}: {row.lookups_routed:,} lookups" for row in own],
            colour=colour,
        )
        for colour, (name, own) in enumerate(runs.items())
    ]
    even = Series(name="all the same", source=LAW, x=[0, 1], y=[1, 1], style="line", colour=REFERENCE, dash="dot")
    return Panel(
        title=titled(source, "Lookups through a node"),
        x=Axis(title="nodes, busiest first (% of all)", share=True, least=0, most=1),
        y=Axis(title="lookups per node (multiples of the mean)", least=0),
        series=[*series, even],
    )


def _degrees(source: str, runs: Loads) -> Panel:
    """Without a series if nothing tells who knows whom."""
    series = []
    for colour, (name, own) in enumerate(runs.items()):
        known = Counter(row.in_degree for row in own if row.in_degree is not None)
        if x := sorted(known):
            y = [known[degree] / known.total() for degree in x]
            series.append(Series(name=name_of(source, name), source=source, x=x, y=y, style="bars", colour=colour))
    return Panel(
        title=titled(source, "In-degree"),
        x=Axis(title="in-degree (nodes that know it)"),
        y=Axis(title="share of nodes (%)", share=True, least=0),
        series=series,
    )


def _hot(source: str, rows: Sequence[HotKey]) -> Panel:
    bars = Series(
        name=name_of(source, "lookups"),
        source=source,
        x=[row.count for row in rows],
        y=list(range(1, len(rows) + 1)),
        said=[f"key {row.key} {row.name} in {row.run}" for row in rows],
        style="bars",
    )
    ranks = [(float(place), (row.name or row.key)[:24]) for place, row in enumerate(rows, 1)]
    return Panel(
        title=titled(source, "Keys"),
        x=Axis(title="lookups (count)", least=0),
        y=Axis(title="key (name or identifier)", ticks=ranks),
        series=[bars],
        flat=True,
    )


def _slow(source: str, rows: Sequence[Slowest]) -> Panel:
    series = []
    for colour, name in enumerate(dict.fromkeys(row.run for row in rows)):
        own = [(place, row) for place, row in enumerate(rows, 1) if row.run == name]
        series.append(
            Series(
                name=name_of(source, name),
                source=source,
                x=[row.duration_us / 1e3 for _, row in own],
                y=[place for place, _ in own],
                said=[f"{row.trace_id}: {row.path}" for _, row in own],
                style="bars",
                colour=colour,
            )
        )
    ranks = [(float(place), str(place)) for place in range(1, len(rows) + 1)]
    return Panel(
        title=titled(source, "Lookups"),
        x=Axis(title="duration (ms)", least=0),
        y=Axis(title="rank (slowest first)", ticks=ranks),
        series=series,
        flat=True,
    )
