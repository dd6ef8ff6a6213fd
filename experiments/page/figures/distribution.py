"""How many lookups took how many hops, at one ring size."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from experiments.analysis.histogram import Histogram
from experiments.page.chart import LAW, REFERENCE, Axis, Figure, Panel, Series
from experiments.page.figures.histograms import gathered, total
from experiments.page.figures.paper_series import column
from experiments.page.figures.told import by_source, name_of, runs_of, titled, together
from experiments.page.material import Material, Paper
from experiments.ranks import mean, percentile

MOST_PANELS = 3
"""Of runs, unless they have more sources: each has one."""

PAPER_NODES = 1 << 12
"""Of sim.paper.distribution, and of the figure it runs anew."""


class Kind(NamedTuple):
    """Lookups that are told apart."""

    source: str
    mode: str
    size: int


def path_distribution(material: Material) -> Figure | None:
    """The largest sizes of each source, a panel each, and 4,096 nodes as the paper has them."""
    about_clients = {run.name for run in material.runs if run.clients is not None}
    chosen = [row for row in material.hops if row.ring_size and row.run not in about_clients]
    found = gathered(chosen, lambda row: Kind(row.source, row.mode, row.ring_size or 0), lambda row: row.hops)
    shown = _largest(found)
    panels = [_panel(source, size, {kind: found[kind] for kind in kinds}) for (source, size), kinds in shown.items()]
    paper = material.paper("path-distribution")
    if paper is not None:
        panels.append(_of_paper(paper))
    if not panels:
        return None
    drawn = {kind: found[kind] for kinds in shown.values() for kind in kinds}
    counts = [f"{total(drawn.values()):,} lookups"] if drawn else []
    counts += ["lookups of all rings of the cells of the paper's figure"] if paper is not None else []
    runs = [row.run for row in chosen if Kind(row.source, row.mode, row.ring_size or 0) in drawn]
    return Figure(
        name="path-distribution",
        section="Lookups",
        title="Distribution of path length",
        what="The share of answered lookups by their hops, at one ring size a panel: the largest of each source. "
        "On an ideal ring with fingers alone each bit of the distance is one hop with a chance of a half: a binomial "
        "distribution, drawn as points.",
        finding=_finding(drawn, paper),
        panels=panels,
        counts=", ".join(counts),
        **together(paper, runs_of(material, runs)),
    )


def _largest(found: Iterable[Kind]) -> dict[tuple[str, int], list[Kind]]:
    """By source and size what is drawn: as many sizes of each source, the largest first."""
    apart = by_source(sorted(found), lambda kind: kind.source)
    each = max(1, MOST_PANELS // max(1, len(apart)))
    return {
        (source, size): [kind for kind in own if kind.size == size]
        for source, own in apart.items()
        for size in sorted({kind.size for kind in own}, reverse=True)[:each]
    }


def _panel(source: str, size: int, found: dict[Kind, dict[int, int]]) -> Panel:
    last = max(percentile(histogram, 0.999) for histogram in found.values()) + 1
    hops = list(range(last + 1))
    series = []
    for colour, (kind, histogram) in enumerate(found.items()):
        whole = sum(histogram.values())
        series.append(
            Series(
                name=name_of(kind.source, f"{kind.mode} lookups"),
                source=kind.source,
                x=hops,
                y=[histogram.get(each, 0) / whole for each in hops],
                said=[f"{histogram.get(each, 0):,} of {whole:,} lookups" for each in hops],
                style="bars",
                colour=colour,
            )
        )
    return _axes(titled(source, f"N = {size:,}"), [*series, _binomial(size, hops)], last)


def _of_paper(paper: Paper) -> Panel:
    hops, share = column(paper, "hops"), column(paper, "share")
    bars = Series(
        name="sim paper, fingers (simulated)",
        source="sim",
        x=[value or 0.0 for value in hops],
        y=share,
        style="bars",
        colour=1,
    )
    law = Series(
        name="binomial(log2 N, ½)",
        source=LAW,
        x=[value or 0.0 for value in hops],
        y=column(paper, "binomial"),
        style="points",
        colour=REFERENCE,
        symbol="x-thin-open",
    )
    return _axes(titled("sim", f"N = {PAPER_NODES:,}, sim paper"), [bars, law], len(hops) - 1)


def _axes(title: str, series: list[Series], last: int) -> Panel:
    step = max(1, math.ceil(last / 14))
    return Panel(
        title=title,
        x=Axis(title="path length (hops)", ticks=[(hops, str(hops)) for hops in range(0, last + 1, step)]),
        y=Axis(title="share of answered lookups (%)", share=True, least=0),
        series=series,
    )


def _binomial(size: int, hops: list[int]) -> Series:
    bits = round(math.log2(size))
    return Series(
        name="binomial(log2 N, ½)",
        source=LAW,
        x=hops,
        y=[math.comb(bits, each) / 2**bits for each in hops],
        style="points",
        colour=REFERENCE,
        symbol="x-thin-open",
    )


def _finding(found: Mapping[Kind, Histogram], paper: Paper | None) -> str:
    told = [
        f"N = {kind.size:,}, {name_of(kind.source, kind.mode)}: mean {mean(histogram):.2f}, "
        f"99th percentile {percentile(histogram, 0.99)}, most {max(histogram)}"
        for kind, histogram in found.items()
    ]
    if paper is not None:
        middle = sum((hops or 0) * (share or 0) for hops, share in zip(*_columns(paper), strict=True))
        told.append(f"N = {PAPER_NODES:,}, fingers (simulated): mean {middle:.2f}")
    return f"Hops. {'; '.join(told)}."


def _columns(paper: Paper) -> tuple[list[float | None], list[float | None]]:
    return column(paper, "hops"), column(paper, "share")
