"""What a figure shows, whoever draws it: the page with Plotly, the PNG with matplotlib, the CSV and the tables as rows.

Names in it may come from traces and hold anything: whoever draws them escapes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

Dash = Literal["solid", "dash", "dot"]
Value = float | int | str | None

PUBLISHED, LAW = "published", "law"
"""Sources of what was not run: a paper's points, and a formula."""

REFERENCE = -1
"""The colour of what is no run: that of text."""


@dataclass(frozen=True, kw_only=True)
class Series:
    """One line, set of points or bars. `source` is that of its run, or PUBLISHED or LAW.

    `low` and `high` are the ends of a bar at each point; `said` what a reader who points there is told beside x and y.
    """

    name: str
    source: str
    x: Sequence[float | str]
    y: Sequence[float | None]
    style: Literal["line", "points", "bars", "steps", "linked"] = "linked"
    colour: int = 0
    dash: Dash = "solid"
    symbol: str = "circle"
    low: Sequence[float | None] | None = None
    high: Sequence[float | None] | None = None
    said: Sequence[str] | None = None


@dataclass(frozen=True, kw_only=True)
class Axis:
    """`title` says what and in which unit. `ticks` are places and what is written there; without, the drawer chooses.

    `scale` category takes the places as they come. `least` and `most` end the axis where they are given.
    """

    title: str
    scale: Literal["linear", "log", "category"] = "linear"
    ticks: Sequence[tuple[float, str]] | None = None
    share: bool = False
    least: float | None = None
    most: float | None = None


@dataclass(frozen=True, kw_only=True)
class Mark:
    """An upright line at a place of the x axis, with a word."""

    at: float
    text: str


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One pair of axes. `flat` lays bars on their side, x being their length."""

    title: str
    x: Axis
    y: Axis
    series: Sequence[Series]
    marks: Sequence[Mark] = ()
    flat: bool = False


@dataclass(frozen=True, kw_only=True)
class Figure:
    """`name` is that of its files; `what` a paragraph on what is counted; `finding` what it shows, in numbers.

    `runs` are those that are drawn in it, and `counts` how much of theirs is.
    """

    name: str
    section: str
    title: str
    what: str
    finding: str
    panels: Sequence[Panel]
    runs: Sequence[str]
    counts: str
    seeds: str = ""
    notes: Sequence[str] = field(default_factory=tuple)

    @property
    def sources(self) -> list[str]:
        """Where that which is drawn comes from, for the badges: neither papers' points nor formulas."""
        found = {one.source for panel in self.panels for one in drawn(panel.series)}
        return sorted(found - {PUBLISHED, LAW})


def drawn(series: Sequence[Series]) -> list[Series]:
    """Those with a point at least."""
    return [one for one in series if any(value is not None for value in one.y)]
