"""A figure as PNG, with matplotlib."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import NullFormatter, NullLocator, PercentFormatter

from experiments.analysis.summary import SOURCE_NAMES
from experiments.page.chart import REFERENCE, Axis, Figure, Panel, Series, drawn
from experiments.page.material import SIMULATED
from experiments.page.placing import places

COLOURS = ("#0069a8", "#c2500a", "#00805d", "#a3407f", "#7a6000", "#3d7fb0", "#5b4bb5", "#5c6470")
INK, ALARM = "#3a3f47", "#b3261e"
SYMBOLS = {
    "triangle-up": "^",
    "x-thin-open": "x",
    "cross-thin-open": "+",
    "x-thin": "x",
    "cross-thin": "+",
    "diamond": "D",
    "square": "s",
}
DASHES = {"solid": "-", "dash": "--", "dot": ":"}
INCHES = 7.0, 4.4
MOST_COLUMNS = 2
DOTS_PER_INCH = 130
WRAPPED = 46


def write(figure: Figure, path: Path) -> None:
    """Draw every panel, what it is of above it, and where it is from below."""
    columns = min(MOST_COLUMNS, len(figure.panels))
    lines = -(-len(figure.panels) // columns)
    canvas = Canvas(figsize=(INCHES[0] * columns, (INCHES[1] + 1.0) * lines + 0.7), layout="constrained")
    grid = canvas.subplots(lines, columns, squeeze=False)
    axes = [axis for row in grid for axis in row]
    for axis, panel in zip(axes, figure.panels, strict=False):
        _panel(axis, panel)
    for spare in axes[len(figure.panels) :]:
        spare.set_visible(False)
    source = ", ".join(SOURCE_NAMES[source] for source in figure.sources)
    canvas.suptitle(_plain(f"{figure.title} ({source})"), fontsize=13, fontweight="bold")
    canvas.supxlabel(_plain(_from(figure, 60 * columns + 40)), fontsize=8, color="0.35")
    canvas.savefig(path, dpi=DOTS_PER_INCH)


def _from(figure: Figure, width: int) -> str:
    runs = figure.runs if len(figure.runs) <= 4 else [*figure.runs[:4], f"{len(figure.runs) - 4} more"]
    return textwrap.fill("; ".join(text for text in (", ".join(runs), figure.seeds, figure.counts) if text), width)


def _panel(axis: Axes, panel: Panel) -> None:
    series = drawn(panel.series)
    bars = [one for one in series if one.style == "bars"]
    for one, x in zip(series, places(panel), strict=True):
        if one.style == "bars":
            _bars(axis, one, bars.index(one), len(bars), panel.flat)
        else:
            _line(axis, one, x, panel.flat)
    for place, mark in enumerate(panel.marks, 1):
        axis.axvline(mark.at, color=ALARM, linestyle="--", linewidth=1.4, label=_plain(f"{place}: {mark.text}"))
    _scale(axis, panel.x, "x")
    _scale(axis, panel.y, "y")
    if panel.flat:
        axis.invert_yaxis()
    axis.set_title(_plain(panel.title), fontsize=10)
    axis.grid(True, which="major", color="0.9")
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(
        loc="upper center", bbox_to_anchor=(0.5, -0.16), fontsize=8, frameon=False, ncols=2 if len(series) > 1 else 1
    )


def _line(axis: Axes, series: Series, x: Sequence[float | str], flat: bool) -> None:
    colour = _colour(series)
    hollow = series.symbol.endswith("-open") and series.symbol not in SYMBOLS
    form: dict[str, Any] = {
        "color": colour,
        "label": _label(series),
        "linestyle": "" if series.style == "points" else DASHES[series.dash],
        "marker": None if series.style in ("line", "steps") else SYMBOLS.get(series.symbol.removesuffix("-open"), "o"),
        "markersize": 6,
        "linewidth": 1.8,
        "markerfacecolor": "none" if hollow else colour,
    }
    y = [math.nan if value is None else value for value in series.y]
    if series.low is None or series.high is None:
        axis.plot(x, y, drawstyle="steps-post" if series.style == "steps" else "default", **form)
        return
    along = [float(at) for at in x] if flat else y
    below = [at - (at if end is None else end) for at, end in zip(along, series.low, strict=True)]
    above = [(at if end is None else end) - at for at, end in zip(along, series.high, strict=True)]
    ends = [below, above]
    axis.errorbar(x, y, xerr=ends if flat else None, yerr=None if flat else ends, capsize=3, elinewidth=1, **form)


def _bars(axis: Axes, series: Series, place: int, count: int, flat: bool) -> None:
    hatched = {"hatch": "//", "edgecolor": "white"} if series.source in SIMULATED else {}
    form: dict[str, Any] = {"color": _colour(series), "label": _label(series), **hatched}
    if flat:
        axis.barh([value or 0 for value in series.y], [float(x) for x in series.x], **form)
        return
    width = 0.8 / count
    if isinstance(series.x[0], str):
        axis.bar([_plain(str(x)) for x in series.x], [value or 0 for value in series.y], width, **form)
        return
    places = [float(x) + (place - (count - 1) / 2) * width for x in series.x]
    axis.bar(places, [value or 0 for value in series.y], width, **form)


def _scale(axis: Axes, form: Axis, which: str) -> None:
    own = axis.xaxis if which == "x" else axis.yaxis
    set_scale, set_limits = (axis.set_xscale, axis.set_xlim) if which == "x" else (axis.set_yscale, axis.set_ylim)
    if form.scale == "log":
        set_scale("log")
        own.set_minor_locator(NullLocator())
        own.set_minor_formatter(NullFormatter())
    if form.ticks is not None:
        shown = _thinned(form.ticks)
        own.set_ticks([place for place, _ in shown], [_plain(text) for _, text in shown])
    if form.share:
        own.set_major_formatter(PercentFormatter(1.0))
    if form.least is not None or form.most is not None:
        set_limits(form.least, form.most)
    own.set_label_text(_plain(form.title))


def _thinned(ticks: Sequence[tuple[float, str]]) -> Sequence[tuple[float, str]]:
    return ticks[:: -(-len(ticks) // 12)]


def _colour(series: Series) -> str:
    return INK if series.colour == REFERENCE else COLOURS[series.colour % len(COLOURS)]


def _label(series: Series) -> str:
    return _plain("\n".join(textwrap.wrap(series.name, WRAPPED)))


def _plain(text: str) -> str:
    """Text that matplotlib takes for no formula, and of which fonts have every character."""
    return "".join(each if each.isprintable() or each == "\n" else "·" for each in text).replace("$", r"\$")
