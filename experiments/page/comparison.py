"""The comparison as it stands on the page: a paragraph, a figure with intervals, and a table of all differences."""

from __future__ import annotations

from collections.abc import Sequence

from chord.amounts import counted
from experiments.page.chart import Figure
from experiments.page.compared_panels import ratios_panel, shares_panel, verdict
from experiments.page.comparing import TOGETHER, Difference, differences
from experiments.page.figures.told import by_source, runs_of, time
from experiments.page.intervals import LEAST_RUNS, RESAMPLES, SEED
from experiments.page.material import Material
from experiments.page.tables import Table
from sim.paper.report import seeds_told

SECTION = "Comparison"
MOST_POINTS = 20
"""Of a panel: what matters comes first, and the table has all."""

COLUMNS = ("what", "ours", "its", "difference", "interval", "verdict", "rows, ours and its")


def comparison(ours: Material, its: Material) -> tuple[str, Figure | None, Table | None, list[Difference]]:
    """The lead, the figure and the table; without anything that both measured there is only the lead."""
    found, level = differences(ours, its)
    name = ", ".join(path.resolve().name for path in its.asked)
    if not found:
        return f"Nothing was measured in the same way here and in {name}.", None, None, []
    matter = sum(each.matters for each in found)
    lead = (
        f"{counted(len(found), 'measurement')} that these runs and {name} have in common; of {matter} the difference "
        "matters: the interval leaves nought out, and it is at least 0.05 hops, 5 % of a latency or 0.1 % of all. "
        f"All intervals hold together with {TOGETHER:.0%} (each is one of {level:.2%}, Bonferroni). "
        f"Bootstrap: {RESAMPLES:,} resamples of the histograms with seed {SEED:,}, of whole runs where both sides have "
        f"{LEAST_RUNS} alike, else of rows, which are taken for independent: what differs from run to run is not in "
        "those. Shares of rows: analytic (Newcombe)."
    )
    rows = [_row(place, each) for place, each in enumerate(found, 1)]
    return lead, _figure(ours, name, found), Table(_caption(name, found), COLUMNS, rows), found


def _caption(name: str, found: Sequence[Difference]) -> str:
    """Whose values they are, and which intervals were made how."""
    methods: dict[str, list[int]] = {}
    for place, each in enumerate(found, 1):
        methods.setdefault(each.method, []).append(place)
    if len(methods) == 1:
        return f"Against {name}. All intervals: {found[0].method}"
    told = [f"{seeds_told(places).replace('seed', 'row')}: {method}" for method, places in methods.items()]
    return f"Against {name}. Intervals: {'; '.join(told)}"


def _row(place: int, each: Difference) -> list[str]:
    ours, its, between, low, high = (
        _told(value, each.kind, signed)
        for value, signed in (
            (each.ours, False),
            (each.its, False),
            (each.ours - each.its, True),
            (each.low, True),
            (each.high, True),
        )
    )
    rows = f"{each.counts[0]:,} · {each.counts[1]:,}"
    if each.kind == "hops":
        low = low.removesuffix(" hops")
    return [f"{place} · {each.what}", ours, its, between, f"{low} to {high}", verdict(each), rows]


def _told(value: float, kind: str, signed: bool) -> str:
    sign = ("+" if value > 0 else "−" if value < 0 else "") if signed else ""
    size = abs(value) if signed else value
    return sign + (time(size) if kind == "latency" else f"{size:.2%}" if kind == "share" else f"{size:.3g} hops")


def _figure(ours: Material, name: str, found: Sequence[Difference]) -> Figure:
    """Hops and latencies of each source in a panel, and shares in another: no axis has real beside simulated."""
    apart = by_source(list(enumerate(found, 1)), lambda numbered: numbered[1].source)
    panels, shown = [], []
    for source, numbered in apart.items():
        ratios = [(place, each) for place, each in numbered if each.ratio and each.ours > 0 < each.its][:MOST_POINTS]
        shares = [(place, each) for place, each in numbered if each.kind == "share"][:MOST_POINTS]
        if ratios:
            panels.append(ratios_panel(source, name, ratios))
        if shares:
            panels.append(shares_panel(source, shares))
        shown += [each for _, each in (*ratios, *shares)]
    matter = [f"{each.what} {_told(each.ours - each.its, each.kind, True)}" for each in found if each.matters]
    first, second = ([run for each in shown for run in each.runs[side]] for side in (0, 1))
    told = runs_of(ours, first)
    return Figure(
        name="differences",
        section=SECTION,
        title=f"Differences from {name}",
        what="Points are ratios, and of shares differences; lines are their intervals. Where one crosses the upright "
        "line, no difference is shown. Numbers on the left are rows of the table of this section.",
        finding=f"What matters: {'; '.join(matter[:4])}{f'; {len(matter) - 4} more' if len(matter) > 4 else ''}."
        if matter
        else "No difference matters.",
        panels=panels,
        counts=f"{len(shown):,} of {counted(len(found), 'measurement')}, whose rows the table counts",
        runs=[*told["runs"], *(f"{run} of {name}" for run in dict.fromkeys(second))],
        seeds=told["seeds"],
    )
