"""Where points are drawn: series with bars stand a little beside each other, or their bars would hide each other."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.page.chart import Panel, Series, drawn

APART = 0.012
"""Of the axis, between two such series at one place."""


def places(panel: Panel) -> list[Sequence[float | str]]:
    """The x of every series that is drawn; what a reader is told of a point is its true x."""
    series = drawn(panel.series)
    barred = [at for at, one in enumerate(series) if one.low is not None]
    found: list[Sequence[float | str]] = [one.x for one in series]
    if panel.flat or len(barred) < 2 or panel.x.scale == "category":
        return found
    numbers = [x for at in barred for x in _numbers(series[at])]
    least, most = min(numbers), max(numbers)
    for place, at in enumerate(barred):
        steps = (place - (len(barred) - 1) / 2) * APART
        if panel.x.scale == "log":
            found[at] = [x * (most / least) ** steps for x in _numbers(series[at])]
        else:
            found[at] = [x + (most - least) * steps for x in _numbers(series[at])]
    return found


def _numbers(series: Series) -> list[float]:
    return [float(x) for x in series.x]
