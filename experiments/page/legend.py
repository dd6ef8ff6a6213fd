"""What stands above a plot for each of its series, and for each of its upright lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from experiments.page.chart import REFERENCE, Panel, Series, drawn
from experiments.page.material import SIMULATED
from experiments.page.plotly_form import COLOURS

DASHES = {"solid": "", "dash": ' stroke-dasharray="6 4"', "dot": ' stroke-dasharray="2 3"'}
SYMBOLS = {
    "circle": '<circle cx="13" cy="6" r="4" fill="currentColor"/>',
    "circle-open": '<circle cx="13" cy="6" r="3.6" fill="none" stroke="currentColor" stroke-width="2"/>',
    "triangle-up-open": '<path d="M13 2 L17.5 10 H8.5 Z" fill="none" stroke="currentColor" stroke-width="2"/>',
    "diamond-open": '<path d="M13 1.5 L17.5 6 L13 10.5 L8.5 6 Z" fill="none" stroke="currentColor" stroke-width="2"/>',
    "triangle-up": '<path d="M13 1.5 L18 10 H8 Z" fill="currentColor"/>',
    "square": '<rect x="9" y="2" width="8" height="8" fill="currentColor"/>',
    "diamond": '<path d="M13 1 L18 6 L13 11 L8 6 Z" fill="currentColor"/>',
    "x-thin-open": '<path d="M9 2 L17 10 M17 2 L9 10" stroke="currentColor" stroke-width="2"/>',
    "cross-thin-open": '<path d="M13 1 V11 M8 6 H18" stroke="currentColor" stroke-width="2"/>',
}


@dataclass(frozen=True)
class Entry:
    """`ink` is a class of the style sheet; what has a `button` can be hidden."""

    text: str
    ink: str
    drawing: Markup
    button: bool = True


def entries(panel: Panel) -> Iterator[Entry]:
    """One for each series, unless there is a single one without anything to tell it from; then the upright lines."""
    series = drawn(panel.series)
    for one in series:
        ink = "ink" if one.colour == REFERENCE else f"s{one.colour % COLOURS}"
        yield Entry(one.name, ink, _drawing(one), button=len(series) > 1)
    for place, mark in enumerate(panel.marks, 1):
        drawing = Markup('<path d="M13 0 V12" stroke="currentColor" stroke-width="2" stroke-dasharray="3 2"/>')
        yield Entry(f"{place}: {mark.text}", "alarm", drawing, button=False)


def _drawing(series: Series) -> Markup:
    if series.style == "bars":
        fill = ' fill-opacity="0.25" stroke="currentColor" stroke-width="2"' if series.source in SIMULATED else ""
        return Markup(f'<rect x="6" y="1" width="14" height="10" rx="1.5" fill="currentColor"{fill}/>')
    line = f'<path d="M0 6 H26" stroke="currentColor" stroke-width="2.2"{DASHES[series.dash]}/>'
    symbol = SYMBOLS.get(series.symbol, SYMBOLS["circle"])
    parts = {"points": symbol, "linked": line + symbol}
    return Markup(parts.get(series.style, line))
