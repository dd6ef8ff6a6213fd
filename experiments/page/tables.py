"""The same figure as rows: long for CSV, a column a series for the table under it."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

from experiments.page.chart import Figure, Panel, Value, drawn

COLUMNS = ("panel", "series", "source", "x_axis", "x", "y_axis", "y", "y_low", "y_high", "note")
MOST_ROWS = 60


@dataclass(frozen=True)
class Table:
    """What stands in a table of the page. `more` rows are left out."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    more: int = 0


def as_csv(figure: Figure) -> str:
    """Every point of a figure, a row each, with all its digits; the first lines say what it is of."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*COLUMNS, "runs", "seeds"])
    runs = " | ".join(figure.runs)
    for panel in figure.panels:
        for series in drawn(panel.series):
            for place, (x, y) in enumerate(zip(series.x, series.y, strict=True)):
                ends = [ends[place] if ends is not None else None for ends in (series.low, series.high)]
                said = series.said[place] if series.said is not None else None
                row: list[Value] = [panel.title, series.name, series.source, panel.x.title, x, panel.y.title, y, *ends]
                writer.writerow([*map(_safe, row), _safe(said), _safe(runs), figure.seeds])
    return out.getvalue()


def as_table(panel: Panel) -> Table:
    """A row for each x, the values of every series beside it, with the ends of their bars."""
    series = drawn(panel.series)
    places: dict[float | str, dict[int, str]] = {}
    for at, one in enumerate(series):
        for point, (x, y) in enumerate(zip(one.x, one.y, strict=True)):
            text = _told(y, panel.y.share)
            if one.low is not None and one.high is not None and None not in (one.low[point], one.high[point]):
                text += f" [{_told(one.low[point])} – {_told(one.high[point])}]"
            places.setdefault(x, {})[at] = text
    keys = list(places)
    if panel.x.scale != "category" and not panel.flat:
        keys.sort(key=float)
    rows = [[_told(x), *(places[x].get(at, "") for at in range(len(series)))] for x in keys]
    columns = [panel.x.title, *(one.name for one in series)]
    title = " · ".join(text for text in (panel.title, panel.y.title) if text)
    return Table(title, columns, rows[:MOST_ROWS], max(0, len(rows) - MOST_ROWS))


def _told(value: Value, share: bool = False) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if share:
        return f"{value:.2%}"
    return f"{value:,}" if isinstance(value, int) or value == int(value) else f"{value:,.4g}"


def _safe(value: Value) -> Value:
    """A name that a spreadsheet would take for a formula, as text."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value
