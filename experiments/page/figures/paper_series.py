"""Columns of a figure of `sim paper` as series, with published points beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from experiments.page.chart import PUBLISHED, REFERENCE, Series
from experiments.page.figures.told import number
from experiments.page.material import Paper
from experiments.traces.run import BadRun

SIMULATED = "sim"
OPEN = "circle-open"


def column(paper: Paper, name: str, **where: str) -> list[float | None]:
    """One column as numbers, of the rows in which others hold what `where` says. Raises BadRun if there is none."""
    if name not in paper.rows[0]:
        raise BadRun(f"{paper.name}.csv of {paper.of} has no column {name!r}; run `python -m sim paper` again")
    return [number(row[name]) for row in chosen(paper, **where)]


def chosen(paper: Paper, **where: str) -> list[Mapping[str, str]]:
    """The rows in which columns hold these texts."""
    return [row for row in paper.rows if all(row.get(name) == text for name, text in where.items())]


def kinds(paper: Paper, name: str) -> list[str]:
    """What a column holds, each once, in order."""
    return list(dict.fromkeys(row[name] for row in paper.rows))


def total(paper: Paper, name: str) -> int:
    """The sum of a column of counts."""
    return round(sum(value for value in column(paper, name) if value is not None))


def simulated(
    name: str,
    x: Sequence[float | None],
    y: Sequence[float | None],
    colour: int,
    ends: tuple[Sequence[float | None], Sequence[float | None]] | None = None,
    said: Sequence[str] | None = None,
) -> Series:
    """What the simulator found: open points on a dashed line. `ends` are those of bars."""
    return Series(
        name=f"{name} (simulated)",
        source=SIMULATED,
        x=[value or 0.0 for value in x],
        y=y,
        colour=colour,
        symbol=OPEN,
        dash="dash",
        low=ends[0] if ends else None,
        high=ends[1] if ends else None,
        said=said,
    )


def published(name: str, x: Sequence[float | None], y: Sequence[float | None], symbol: str = "x-thin-open") -> Series:
    """Points of a paper or of a reference; places without one are left out."""
    points = [(place, value) for place, value in zip(x, y, strict=True) if place is not None and value is not None]
    return Series(
        name=name,
        source=PUBLISHED,
        x=[place for place, _ in points],
        y=[value for _, value in points],
        style="points",
        colour=REFERENCE,
        symbol=symbol,
    )
