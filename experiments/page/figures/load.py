"""Who carries the lookups: nodes by what went through them, in-degree, hot keys, and the slowest lookups."""

from __future__ import annotations

from collections import Counter

from experiments.page.chart import LAW, REFERENCE, Axis, Figure, Panel, Series
from experiments.page.figures.told import name_of, runs_of, time
from experiments.page.material import Material

MOST_RUNS = 6
MOST_KEYS = 15
MOST_SLOW = 12


def node_load(material: Material) -> Figure | None:
    """Lookups through each node, the busiest first, and how many others know it."""
    rows = [row for row in material.node_load if row.lookups_routed]
    if not rows:
        return None
    runs = list(dict.fromkeys(row.run for row in rows))[:MOST_RUNS]
    series, degrees, busiest = [], [], []
    for colour, name in enumerate(runs):
        run = material.run(name)
        own = sorted((row for row in rows if row.run == name), key=lambda row: -row.lookups_routed)
        middle = sum(row.lookups_routed for row in own) / len(own)
        busiest.append(f"{own[0].lookups_routed / middle:.2f} in {name}")
        share = [(place + 0.5) / len(own) for place in range(len(own))]
        load = [row.lookups_routed / middle for row in own]
        said = [f"{row.node} {row.address}: {row.lookups_routed:,} lookups" for row in own]
        series.append(
            Series(name=name_of(run.source, name), source=run.source, x=share, y=load, said=said, colour=colour)
        )
        known = Counter(row.in_degree for row in own if row.in_degree is not None)
        if known:
            x = sorted(known)
            y = [known[degree] / known.total() for degree in x]
            degrees.append(
                Series(name=name_of(run.source, name), source=run.source, x=x, y=y, style="bars", colour=colour)
            )
    even = Series(name="all the same", source=LAW, x=[0, 1], y=[1, 1], style="line", colour=REFERENCE, dash="dot")
    panels = [
        Panel(
            title="Lookups through a node",
            x=Axis(title="nodes, busiest first (% of all)", share=True, least=0, most=1),
            y=Axis(title="lookups per node (multiples of the mean)", least=0),
            series=[*series, even],
        )
    ]
    if degrees:
        known_by = Axis(title="in-degree (nodes that know it)")
        share_of = Axis(title="share of nodes (%)", share=True, least=0)
        panels.append(Panel(title="In-degree", x=known_by, y=share_of, series=degrees))
    return Figure(
        name="node-load",
        section="Keys and load",
        title="Load of the nodes",
        what="How many lookups each node answered on their way, over the mean of its run.",
        finding=f"The busiest node over the mean: {', '.join(busiest)}.",
        panels=panels,
        counts=f"{sum(row.lookups_routed for row in rows):,} steps of lookups",
        **runs_of(material, runs),
    )


def hot_keys(material: Material) -> Figure | None:
    """The keys that were looked up most, of all runs."""
    if not material.hot_keys:
        return None
    rows = sorted(material.hot_keys, key=lambda row: -row.count)[:MOST_KEYS]
    first = material.run(rows[0].run)
    series = [
        Series(
            name=name_of(first.source, "lookups"),
            source=first.source,
            x=[row.count for row in rows],
            y=list(range(1, len(rows) + 1)),
            said=[f"key {row.key} {row.name} in {row.run}" for row in rows],
            style="bars",
        )
    ]
    ranks = [(float(place), (row.name or row.key)[:24]) for place, row in enumerate(rows, 1)]
    return Figure(
        name="hot-keys",
        section="Keys and load",
        title="Hot keys",
        what="The keys that were looked up most; the longest bar first.",
        finding=f"Key {rows[0].name or rows[0].key} was looked up {rows[0].count:,} times.",
        panels=[
            Panel(
                title="",
                x=Axis(title="lookups (count)", least=0),
                y=Axis(title="key (name or identifier)", ticks=ranks),
                series=series,
                flat=True,
            )
        ],
        counts=f"{sum(row.count for row in rows):,} lookups of {len(rows)} keys",
        **runs_of(material, (row.run for row in rows)),
    )


def slowest(material: Material) -> Figure | None:
    """The slowest lookups of all runs, with the way they went."""
    if not material.slowest:
        return None
    rows = sorted(material.slowest, key=lambda row: -row.duration_us)[:MOST_SLOW]
    colours = {name: place for place, name in enumerate(dict.fromkeys(row.run for row in rows))}
    series = []
    for name, colour in colours.items():
        own = [(place, row) for place, row in enumerate(rows, 1) if row.run == name]
        source = material.run(name).source
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
    return Figure(
        name="slowest",
        section="Latency",
        title="The slowest lookups",
        what="Their durations; the table has the way that each went, node by node.",
        finding=f"The slowest took {time(rows[0].duration_us)}: {rows[0].path}.",
        panels=[
            Panel(
                title="",
                x=Axis(title="duration (ms)", least=0),
                y=Axis(title="rank (slowest first)", ticks=[(place, str(place)) for place in range(1, len(rows) + 1)]),
                series=series,
                flat=True,
            )
        ],
        counts=f"{len(rows)} lookups",
        **runs_of(material, colours),
    )
