"""Keys per node, with one virtual node and with more."""

from __future__ import annotations

from experiments.page.chart import LAW, REFERENCE, Axis, Figure, Panel, Series
from experiments.page.figures.histograms import HIGH, LOW
from experiments.page.figures.paper_series import chosen, column, published, simulated
from experiments.page.figures.told import name_of, number_ticks, runs_of, together
from experiments.page.material import Material, Paper
from experiments.page.rows import NodeLoad
from experiments.ranks import percentile

KEYS, VIRTUAL = "keys", "virtual"
OVER_MEAN = "keys per node (multiples of the mean)"


def keys_per_node(material: Material) -> Figure | None:
    """The mean of one, and the 1st and 99th percentile of all nodes: by keys, and by virtual nodes."""
    paper = material.paper("load")
    owned = [row for row in material.node_load if row.owned]
    panels = []
    if paper is not None:
        panels += [_of_paper(paper, KEYS), _of_paper(paper, VIRTUAL)]
    if owned:
        panels.append(_of_runs(material, owned))
    if not panels:
        return None
    counts = (
        [f"{max(int(row['keys']) for row in paper.rows):,} keys on each of {paper.rows[0]['rings']} rings of 10,000"]
        if paper
        else []
    )
    counts += [f"{sum(row.owned for row in owned):,} lookups by owner"] if owned else []
    return Figure(
        name="keys-per-node",
        section="Keys and load",
        title="Keys per node, with and without virtual nodes",
        what="Bars reach from the 1st to the 99th percentile of all nodes, over the mean: arcs between random "
        "identifiers differ, and several virtual nodes a process even them out. Published: SIGCOMM 2001, figures 8 "
        "and 9.",
        finding=_finding(paper) if paper else "Lookups by the node that owned their key.",
        panels=panels,
        counts=", ".join(counts),
        **together(paper, runs_of(material, (row.run for row in owned))),
    )


def _of_paper(paper: Paper, by: str) -> Panel:
    most = max(int(row["keys"]) for row in paper.rows)
    where = {"virtual": "1"} if by == KEYS else {"keys": str(most)}
    x, low, high = column(paper, by, **where), column(paper, "p1", **where), column(paper, "p99", **where)
    said = [f"{row['rings']} rings, fullest node {float(row['most']):.2f}" for row in chosen(paper, **where)]
    ones: list[float | None] = [1.0] * len(x)
    series = [
        simulated("mean, 1st to 99th percentile", x, ones, 0, ends=(low, high), said=said),
        simulated("fullest node", x, column(paper, "most", **where), 1),
    ]
    for name, symbol in (("p99", "x-thin-open"), ("p1", "cross-thin-open"), ("most", "diamond-open")):
        words = {"p99": "99th percentile", "p1": "1st percentile", "most": "fullest node"}[name]
        series.append(published(f"{words} (published)", x, column(paper, f"published {name}", **where), symbol))
    theory = column(paper, "expected p99", **where)
    law = Series(
        name="99th percentile of random identifiers",
        source=LAW,
        x=[at or 0.0 for at in x],
        y=theory,
        style="line",
        colour=REFERENCE,
        dash="dot",
    )
    title = "One virtual node a process" if by == KEYS else f"{most:,} keys"
    words = "keys (logarithmic)" if by == KEYS else "virtual nodes (per process, logarithmic)"
    ticks = number_ticks(value or 0.0 for value in x)
    return Panel(
        title=title,
        x=Axis(title=words, scale="log", ticks=ticks),
        y=Axis(title=OVER_MEAN, least=0),
        series=[*series, law],
    )


def _of_runs(material: Material, owned: list[NodeLoad]) -> Panel:
    """Lookups by owner, which stand for keys when names are random: a point a run, by its virtual nodes."""
    by_source: dict[str, list[tuple[float, float, float, str]]] = {}
    for name in dict.fromkeys(row.run for row in owned):
        run = material.run(name)
        counts: dict[int, int] = {}
        loads = [row.owned for row in owned if row.run == name]
        for load in loads:
            counts[load] = counts.get(load, 0) + 1
        middle = sum(loads) / len(loads)
        ends = percentile(counts, LOW) / middle, percentile(counts, HIGH) / middle
        by_source.setdefault(run.source, []).append((run.vnodes or 1, *ends, f"{name}: {len(loads)} nodes"))
    series = [
        Series(
            name=name_of(source, "mean, 1st to 99th percentile"),
            source=source,
            x=[point[0] for point in own],
            y=[1.0] * len(own),
            low=[point[1] for point in own],
            high=[point[2] for point in own],
            said=[point[3] for point in own],
            style="points",
            colour=colour,
        )
        for colour, (source, own) in enumerate(sorted(by_source.items()))
    ]
    places = [float(at) for one in series for at in one.x]
    x = Axis(title="virtual nodes (per process)", ticks=number_ticks(places), least=0, most=max(places) + 1)
    return Panel(
        title="Lookups by owner", x=x, y=Axis(title="lookups per owner (multiples of the mean)", least=0), series=series
    )


def _finding(paper: Paper) -> str:
    most = str(max(int(row["keys"]) for row in paper.rows))
    first, last = (chosen(paper, keys=most)[at] for at in (0, -1))
    return (
        f"99th percentile over the mean: {float(first['p99']):.2f} with {first['virtual']} virtual node a process, "
        f"{float(last['p99']):.2f} with {last['virtual']}; "
        f"the 1st: {float(first['p1']):.2f} and {float(last['p1']):.2f}."
    )
