"""Differences as points with their intervals: ratios on a logarithmic axis, shares by percentage points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from experiments.page.chart import LAW, REFERENCE, Axis, Panel, Series
from experiments.page.comparing import Difference
from experiments.page.figures.told import name_of, titled

MATTERS, SMALL, NOT_SHOWN = "matters", "shown, but small", "not shown"
LOOKS = ((MATTERS, 1, "diamond"), (SMALL, 0, "circle"), (NOT_SHOWN, 7, "circle-open"))
"""A verdict's colour and symbol."""

STEPS = ((30.0, (1,)), (3.0, (1, 2, 5)))
"""Ticks of each power of ten, by how many times the axis is as long as it begins."""

LEAST_REACH = 1.1
"""So many times more and less than the same is always on the axis."""

MOST_REACH = 1_000.0
"""What lies further off ends at the edge."""


@dataclass(frozen=True)
class Place:
    """A difference as it is drawn: at which row, where, and the ends of its interval."""

    row: int
    of: Difference
    at: float
    low: float
    high: float


def verdict(difference: Difference) -> str:
    """In words, with a sign for which way."""
    if difference.matters:
        return f"{'▲' if difference.ours > difference.its else '▼'} {MATTERS}"
    return SMALL if difference.shown else NOT_SHOWN


def ratios_panel(source: str, name: str, found: Sequence[tuple[int, Difference]]) -> Panel:
    """Hops and latencies, ours over those of `name`. Both are above 0; an interval without an end ends at the edge."""
    values = [each.ours / each.its for _, each in found]
    ends = [end for _, each in found for end in each.ratio or () if 1 / MOST_REACH <= end <= MOST_REACH]
    least = min([*values, *ends, 1 / LEAST_REACH]) / 1.05
    most = max([*values, *ends, LEAST_REACH]) * 1.05
    places = []
    for (row, each), value in zip(found, values, strict=True):
        low, high = each.ratio or (0.0, inf)
        places.append(Place(row, each, value, max(low, least), min(high, most)))
    x = Axis(
        title=f"ours over that of {name} (ratio, logarithmic)",
        scale="log",
        ticks=ratio_ticks(least, most),
        least=least,
        most=most,
    )
    return _panel(source, "Hops and latencies", x, 1.0, places)


def shares_panel(source: str, found: Sequence[tuple[int, Difference]]) -> Panel:
    """Shares of lookups or samples, ours less its."""
    x = Axis(title="difference of shares (percentage points)", share=True)
    places = [Place(row, each, each.ours - each.its, each.low, each.high) for row, each in found]
    return _panel(source, "Shares that failed or were lost", x, 0.0, places)


def ratio_ticks(least: float, most: float) -> list[tuple[float, str]]:
    """1, 2 and 5 of each power of ten; only the powers on a long axis, tenths or fiftieths on a short one."""
    steps = next((steps for wide, steps in STEPS if most / least > wide), None)
    if steps is not None:
        places = [round(step * 10.0**power, 6) for power in range(-4, 5) for step in steps]
    else:
        part = 10 if most / least > 1.5 else 50
        places = [count / part for count in range(int(least * part), int(most * part) + 1)]
    return [(place, f"{place:,g}") for place in places if least <= place <= most]


def _panel(source: str, title: str, x: Axis, same: float, places: Sequence[Place]) -> Panel:
    rows = [place.row for place in places]
    none = Series(
        name="no difference",
        source=LAW,
        x=[same, same],
        y=[min(rows) - 0.5, max(rows) + 0.5],
        style="line",
        colour=REFERENCE,
        dash="dot",
    )
    return Panel(
        title=titled(source, title),
        x=x,
        y=Axis(title="row of the table", ticks=[(float(row), str(row)) for row in rows]),
        series=[*(_series(source, places, *look) for look in LOOKS), none],
        flat=True,
    )


def _series(source: str, places: Sequence[Place], words: str, colour: int, symbol: str) -> Series:
    own = [place for place in places if verdict(place.of).endswith(words)]
    return Series(
        name=name_of(source, words),
        source=source,
        x=[place.at for place in own],
        low=[place.low for place in own],
        high=[place.high for place in own],
        y=[place.row for place in own],
        said=[place.of.what for place in own],
        style="points",
        colour=colour,
        symbol=symbol,
    )
