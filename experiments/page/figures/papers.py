"""The other figures of `sim paper`: the prototype's latency, stretch, a split ring, and what maintenance buys."""

from __future__ import annotations

from dataclasses import replace

from experiments.page.chart import Axis, Dash, Figure, Mark, Panel
from experiments.page.figures.paper_series import chosen, column, kinds, published, simulated, total
from experiments.page.figures.told import number_ticks, time_ticks, together
from experiments.page.material import Material

DASHES: tuple[Dash, ...] = ("solid", "dash", "dot", "dash")


def prototype(material: Material) -> Figure | None:
    """Latency of a lookup by nodes on ten hosts far apart (SIGCOMM 2001, figure 13)."""
    paper = material.paper("prototype")
    if paper is None:
        return None
    series = []
    for colour, length in enumerate(kinds(paper, "list")):
        x, y, low, high = (column(paper, name, list=length) for name in ("nodes", "median ms", "p5 ms", "p95 ms"))
        said = [f"{row['lookups']} lookups, {float(row['hops']):.2f} hops" for row in chosen(paper, list=length)]
        series.append(simulated(f"median, lists of {length}", x, y, colour, ends=(low, high), said=said))
    points = column(paper, "nodes"), column(paper, "published median ms")
    series.append(published("SIGCOMM 2001, figure 13 (published)", *points))
    last = chosen(paper, list=kinds(paper, "list")[0])[-1]
    ours, its = float(last["median ms"]), last["published median ms"]
    return Figure(
        name="prototype",
        section="Published figures",
        title="Lookup latency on ten hosts far apart",
        what="Median latency of a lookup by nodes, with bars from the 5th to the 95th percentile; the hosts are as far "
        "apart as those of the paper's prototype.",
        finding=f"{ours:.0f} ms at {last['nodes']} nodes with fingers alone; published: {its} ms.",
        panels=[
            Panel(
                title="",
                x=Axis(title="nodes (count)", least=0),
                y=Axis(title="lookup latency (ms)", least=0),
                series=series,
            )
        ],
        counts=f"{total(paper, 'lookups'):,} lookups",
        **together(paper),
    )


def stretch(material: Material) -> Figure | None:
    """Latency of a lookup over that of the direct way (ToN 2003, table IV), an underlay a panel."""
    paper = material.paper("stretch")
    if paper is None:
        return None
    panels = []
    for underlay in kinds(paper, "underlay"):
        series = []
        for colour, way in enumerate(kinds(paper, "way")):
            where = {"underlay": underlay, "way": way}
            x, y, low, high = (column(paper, name, **where) for name in ("nodes", "stretch", "p10", "p90"))
            said = [f"{row['lookups']} lookups" for row in chosen(paper, **where)]
            series.append(simulated(way, x, y, colour, ends=(low, high), said=said))
            if points := [value for value in column(paper, "published stretch (to be checked)", **where) if value]:
                symbol = "x-thin-open" if way == "iterative" else "cross-thin-open"
                series.append(
                    published(f"ToN 2003, table IV, {way} (published, from memory)", x[-1:], points[-1:], symbol)
                )
        x_axis = Axis(
            title="nodes (count, logarithmic)",
            scale="log",
            ticks=number_ticks(at or 0 for at in column(paper, "nodes")),
        )
        panels.append(
            Panel(
                title=f"Underlay: {underlay}",
                x=x_axis,
                y=Axis(title="stretch (multiples of the direct latency)", least=0),
                series=series,
            )
        )
    most = max(kinds(paper, "nodes"), key=int)
    told = [f"{row['way']} on {row['underlay']} {float(row['stretch']):.2f}" for row in chosen(paper, nodes=most)]
    return Figure(
        name="stretch",
        section="Published figures",
        title="Stretch: latency of a lookup over the direct way",
        what="Medians, with bars from the 10th to the 90th percentile.",
        finding=f"At {int(most):,} nodes: {', '.join(told)}.",
        panels=panels,
        counts=f"{total(paper, 'lookups'):,} lookups",
        **together(paper),
    )


def split(material: Material) -> Figure | None:
    """A ring cut in two and healed: what lookups and reads find by the second."""
    paper = material.paper("split")
    if paper is None:
        return None
    seconds = column(paper, "second")
    shares = ("lookups right", "gets right", "puts taken", "the other side's found")
    series = [simulated(name, seconds, column(paper, name), colour) for colour, name in enumerate(shares)]
    whole = min((row for row in paper.rows if float(row["second"]) > 0), key=lambda row: float(row["lookups right"]))
    return Figure(
        name="split",
        section="Published figures",
        title="A ring cut in two, and healed",
        what="The share of lookups and of reads and writes of records that succeed, by the second, both sides "
        "together. The cut begins at second 0.",
        finding=f"Fewest lookups right while split: {float(whole['lookups right']):.1%}, at second {whole['second']}.",
        panels=[
            Panel(
                title="",
                x=Axis(title="time since the cut (s)"),
                y=Axis(title="share that succeeds (%)", share=True, least=0, most=1.02),
                series=[replace(one, style="line", dash=dash) for one, dash in zip(series, DASHES, strict=True)],
                marks=[Mark(at=0, text="the cut")],
            )
        ],
        counts=f"{len(paper.rows)} seconds",
        **together(paper),
    )


def hull(material: Material) -> Figure | None:
    """Median latency by the bandwidth of maintenance, a colour for each mean life of a node."""
    paper = material.paper("hull")
    if paper is None:
        return None
    series = []
    for colour, life in enumerate(kinds(paper, "mean life s")):
        for on, symbol in (("yes", "on the hull"), ("no", "others")):
            where = {"mean life s": life, "on the hull": on}
            x, y = column(paper, "bytes/node/s", **where), column(paper, "median ms", **where)
            said = [
                f"stabilize every {row['stabilize s']} s, lists of {row['successors']}, "
                f"fingers every {row['fingers s']} s, {row['vnodes']} virtual"
                for row in chosen(paper, **where)
            ]
            one = simulated(f"nodes live {float(life):,.0f} s, {symbol}", x, y, colour, said=said)
            series.append(one if on == "yes" else replace(one, style="points"))
    places = [at for at in column(paper, "bytes/node/s") if at]
    ticks = [
        tick
        for tick in number_ticks([100, 200, 500, 1000, 2000, 5000])
        if min(places) / 2 <= tick[0] <= max(places) * 2
    ]
    values = [at for at in column(paper, "median ms") if at]
    return Figure(
        name="hull",
        section="Published figures",
        title="What maintenance buys",
        what="Settings of the same ring under the same churn: the median latency of lookups against the bandwidth of "
        "maintenance. Lines join the settings that no other beats in both.",
        finding=f"Medians of {min(values):,.0f} to {max(values):,.0f} ms for {min(places):,.0f} to {max(places):,.0f} "
        "bytes a node and second.",
        panels=[
            Panel(
                title="",
                x=Axis(
                    title="bandwidth of maintenance (bytes per node and second, logarithmic)", scale="log", ticks=ticks
                ),
                y=Axis(
                    title="median lookup latency (ms, logarithmic)",
                    scale="log",
                    ticks=time_ticks(min(values), max(values)),
                ),
                series=series,
            )
        ],
        counts=f"{total(paper, 'lookups'):,} lookups",
        **together(paper),
    )
