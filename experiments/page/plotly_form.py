"""A panel as Plotly takes it. Colours are names of the page's style sheet, which its script looks up: `@s0`, `@ink`.

Titles of axes stand beside the plot as HTML, where they wrap; so do legends.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any

from experiments.page.chart import REFERENCE, Axis, Panel, Series, drawn
from experiments.page.material import SIMULATED
from experiments.page.placing import places

COLOURS = 8
CROWDED = 200
"""So many points are drawn small."""
Json = dict[str, Any]


def panel(one: Panel) -> Json:
    """Data and layout, and how far its ticks may be thinned out."""
    series = drawn(one.series)
    return {
        "data": [_trace(each, one, x) for each, x in zip(series, places(one), strict=True)],
        "layout": {
            "xaxis": _axis(one.x),
            "yaxis": _axis(one.y) | ({"autorange": "reversed", "ticks": ""} if one.flat else {}),
            "shapes": [_mark(mark.at) for mark in one.marks],
            "annotations": [_number(place, mark.at) for place, mark in enumerate(one.marks, 1)],
            "barmode": "group",
            "hovermode": "closest",
        },
    }


def colour(series: Series) -> str:
    """The name of its colour."""
    return "@ink" if series.colour == REFERENCE else f"@s{series.colour % COLOURS}"


def shown(text: str) -> str:
    """Text for Plotly, which takes some HTML for markup."""
    return html.escape(text, quote=False)


def _trace(series: Series, one: Panel, x: Sequence[float | str]) -> Json:
    ink = colour(series)
    trace: Json = {"name": shown(series.name), "x": [_text(place) for place in x], "y": list(series.y)}
    if x is not series.x:
        trace["customdata"] = list(series.x)
    if series.said is not None:
        trace["text"] = [shown(text) for text in series.said]
    if series.style == "bars":
        hatched = {"pattern": {"shape": "/", "size": 6, "solidity": 0.35}} if series.source in SIMULATED else {}
        trace |= {"type": "bar", "orientation": "h" if one.flat else "v", "textposition": "none"}
        trace["marker"] = {"color": ink, "line": {"color": ink, "width": 1}, **hatched}
    else:
        size = 8 if len(series.x) < CROWDED else 4
        marker = {"color": ink, "size": size, "symbol": series.symbol, "line": {"color": ink, "width": size / 4}}
        mode = {"points": "markers", "linked": "lines+markers"}.get(series.style, "lines")
        trace |= {
            "type": "scatter",
            "mode": mode,
            "cliponaxis": False,
            "line": {
                "color": ink,
                "width": 2.2,
                "dash": series.dash,
                "shape": "hv" if series.style == "steps" else "linear",
            },
            "marker": marker,
        }
    if series.low is not None and series.high is not None:
        trace["error_x" if one.flat else "error_y"] = _error(series, ink, one.flat)
    trace["hovertemplate"] = _hover(series, one, x is not series.x)
    return trace


def _text(place: float | str) -> float | str:
    return shown(place) if isinstance(place, str) else place


def _error(series: Series, ink: str, flat: bool) -> Json:
    """The ends of bars as Plotly takes them: how far from the point, above and below."""
    assert series.low is not None
    assert series.high is not None
    points = [None if isinstance(at, str) else at for at in (series.x if flat else series.y)]
    above = [_apart(end, at) for at, end in zip(points, series.high, strict=True)]
    below = [_apart(at, end) for at, end in zip(points, series.low, strict=True)]
    form = {"type": "data", "symmetric": False, "color": ink, "thickness": 1.3, "width": 4}
    return {**form, "array": above, "arrayminus": below}


def _apart(more: float | None, less: float | None) -> float | None:
    return None if more is None or less is None else more - less


def _hover(series: Series, one: Panel, moved: bool) -> str:
    x = f"%{{{'customdata' if moved else 'x'}{_digits(one.x)}}}"
    said = "<br>%{text}" if series.said is not None else ""
    if one.flat:
        return f"{shown(_bare(one.x.title))}: {x}{said}"
    return f"{shown(_bare(one.x.title))}: {x}<br>{shown(_bare(one.y.title))}: %{{y{_digits(one.y)}}}{said}"


def _digits(axis: Axis) -> str:
    if axis.scale == "category":
        return ""
    return ":.2%" if axis.share else ":,.4~g"


def _bare(title: str) -> str:
    return title.replace(", logarithmic", "").replace(" (logarithmic)", "")


def _axis(axis: Axis) -> Json:
    form: Json = {"type": axis.scale}
    if axis.share:
        form["tickformat"] = ".0%"
    if axis.ticks is not None:
        form |= {"tickvals": [place for place, _ in axis.ticks], "ticktext": [shown(text) for _, text in axis.ticks]}
    if axis.least is not None and axis.most is not None:
        form["range"] = [_place(axis, axis.least), _place(axis, axis.most)]
    elif axis.least == 0 and axis.scale == "linear":
        form["rangemode"] = "tozero"
    return form


def _place(axis: Axis, value: float) -> float:
    return math.log10(value) if axis.scale == "log" else value


def _mark(at: float) -> Json:
    line = {"color": "@alarm", "width": 1.6, "dash": "dash"}
    return {"type": "line", "x0": at, "x1": at, "yref": "paper", "y0": 0, "y1": 1, "line": line, "layer": "above"}


def _number(place: int, at: float) -> Json:
    return {
        "x": at, "y": 1, "yref": "paper", "yanchor": "bottom", "text": str(place), "showarrow": False,
        "font": {"color": "@alarm", "size": 12},
    }  # fmt: skip
