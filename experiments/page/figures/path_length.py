"""Path length against the number of nodes, with the line of the ideal ring and the reference's points."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from experiments.analysis.histogram import Histogram
from experiments.analysis.summary import SOURCE_NAMES
from experiments.page.chart import LAW, PUBLISHED, REFERENCE, Axis, Figure, Panel, Series
from experiments.page.figures.histograms import HIGH, LOW, gathered, total
from experiments.page.figures.told import name_of, number, number_ticks, runs_of, together
from experiments.page.material import SIMULATED, Material, Paper
from experiments.ranks import mean, percentile
from sim.paper.published import HALF_LOG2_FROM, PATH_FINGERS, PATH_LISTS

Spread = tuple[float, float, float, float, int]
"""A size, and of its hops the mean, 1st and 99th percentile and count."""


def path_length(material: Material) -> Figure | None:
    """A series for each source, mode and number of virtual nodes, and those of `sim paper`."""
    about_clients = {run.name for run in material.runs if run.clients is not None}
    chosen = [row for row in material.hops if row.ring_size and row.run not in about_clients]
    found = gathered(
        chosen,
        lambda row: (row.source, row.mode, row.vnodes or 1, row.ring_size or 0),
        lambda row: row.hops,
    )
    paper = material.paper("path-length")
    if not found and paper is None:
        return None
    spreads: dict[tuple[str, str], list[Spread]] = {}
    for (source, mode, vnodes, size), histogram in sorted(found.items(), key=lambda pair: str(pair[0][:3])):
        words = f"{mode} lookups" + (f", {vnodes} virtual nodes" if vnodes > 1 else "")
        spreads.setdefault((source, words), []).append(_spread(size, histogram))
    for kind in ("fingers", "lists") if paper else ():
        assert paper is not None
        spreads["sim", f"sim paper, {kind}"] = _of_paper(paper, kind)
    series = [
        _series(source, words, sorted(own), colour) for colour, ((source, words), own) in enumerate(spreads.items())
    ]
    sizes = sorted({point[0] for own in spreads.values() for point in own})
    counts = total(found.values()) + sum(point[4] for key, own in spreads.items() if "paper" in key[1] for point in own)
    return Figure(
        name="path-length",
        section="Lookups",
        title="Path length against ring size",
        what="Hops are forwards after the node first asked, up to the key's predecessor. Points are means, bars reach "
        "from the 1st to the 99th percentile. The line is the mean that fingers alone need on an ideal ring, "
        f"half log2 N − 0.138; it holds from N = {HALF_LOG2_FROM:,} on. Successor lists save the last hops.",
        finding=_finding(spreads),
        panels=[
            Panel(
                title="",
                x=Axis(title="ring size N (virtual nodes, logarithmic)", scale="log", ticks=number_ticks(sizes)),
                y=Axis(title="path length (hops)", least=0),
                series=[*series, _law(sizes), *_reference(sizes)],
            )
        ],
        counts=f"{counts:,} lookups",
        **together(paper, runs_of(material, (row.run for row in chosen))),
    )


def _spread(size: int, histogram: Histogram) -> Spread:
    edges = percentile(histogram, LOW), percentile(histogram, HIGH)
    return size, mean(histogram), *edges, sum(histogram.values())


def _of_paper(paper: Paper, kind: str) -> list[Spread]:
    columns = ("nodes", "mean", "p1", "p99", "lookups")
    own = [[number(row[column]) or 0.0 for column in columns] for row in paper.rows if row["kind"] == kind]
    return [(size, middle, low, high, int(count)) for size, middle, low, high, count in own]


def _series(source: str, words: str, own: Sequence[Spread], colour: int) -> Series:
    return Series(
        name=name_of(source, words),
        source=source,
        x=[point[0] for point in own],
        y=[point[1] for point in own],
        low=[point[2] for point in own],
        high=[point[3] for point in own],
        said=[f"{point[4]:,} lookups" for point in own],
        colour=colour,
        symbol="circle-open" if source in SIMULATED else "circle",
        dash="dash" if source in SIMULATED else "solid",
    )


def _law(sizes: Sequence[float]) -> Series:
    """The line where it is positive."""
    least, most = min(sizes), max([*sizes, 16])
    powers = [power / 4 for power in range(int(4 * math.log2(max(2, least))), int(4 * math.log2(most)) + 1)]
    return Series(
        name="half log2 N − 0.138",
        source=LAW,
        x=[2**power for power in powers],
        y=[power / 2 - 0.138 for power in powers],
        style="line",
        colour=REFERENCE,
    )


def _reference(sizes: Sequence[float]) -> Iterable[Series]:
    """The points of a reference simulator, as far as the axis goes."""
    for kind, points, symbol in (("fingers", PATH_FINGERS, "x-thin-open"), ("lists", PATH_LISTS, "cross-thin-open")):
        own = {size: hops for size, hops in points.items() if size <= 2 * max(sizes)}
        yield Series(
            name=f"reference simulator, {kind} (published)",
            source=PUBLISHED,
            x=list(own),
            y=list(own.values()),
            style="points",
            colour=REFERENCE,
            symbol=symbol,
        )


def _finding(spreads: dict[tuple[str, str], list[Spread]]) -> str:
    told = []
    for (source, words), own in spreads.items():
        size, middle, low, high, _ = max(own)
        told.append(f"{words} ({SOURCE_NAMES[source]}): {middle:.2f} at N = {size:,.0f} ({low:.0f} to {high:.0f})")
    return f"Mean hops and their 1st to 99th percentile at the largest ring. {'; '.join(told)}."
