"""The two latencies side by side: a panel each dissemination, a curve between applications and one on the wire."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from experiments.capture.matching import WireRow

SIZE_INCHES = (5.6, 4.4)
DOTS_PER_INCH = 130
ROOM = 1.25
"""How far each panel goes up, so that the legend lies above the curves."""

CURVES = (("between applications", "#0072b2", "-"), ("on the wire", "#d55e00", "--"))


def draw(parts: Sequence[tuple[str, Sequence[WireRow]]], path: Path, title: str) -> Path:
    """One panel for each (what it is, its rows), two side by side, all with the same axes; returns `path`, a PNG."""
    width, height = SIZE_INCHES
    columns = min(2, len(parts))
    lines = math.ceil(len(parts) / columns)
    figure = Figure(figsize=(max(width * columns, 1.4 * width), height * lines), layout="constrained")
    axes = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
    for axis, (name, rows) in zip(axes.flat, parts, strict=False):
        _panel(axis, name, rows)
    for axis in axes.flat[len(parts) :]:
        axis.set_visible(False)
    for line in axes:
        line[0].set_ylabel("share of deliveries that took so long or less")
    figure.suptitle(title, fontsize=10)
    figure.savefig(path, dpi=DOTS_PER_INCH)
    return path


def _panel(axis: Axes, name: str, rows: Sequence[WireRow]) -> None:
    application = sorted(row.app_us for row in rows)
    wire = sorted(row.wire_us for row in rows if row.wire_us is not None)
    for (label, colour, style), values in zip(CURVES, (application, wire), strict=True):
        if not values:
            continue
        shares = [number / len(values) for number in range(1, len(values) + 1)]
        middle = values[(len(values) - 1) // 2]
        text = f"{label}: {len(values):,}, p50 {middle / 1000:.2f} ms"
        axis.step([max(value, 1) / 1000 for value in values], shares, style, color=colour, where="post", label=text)
    axis.set_xscale("log")
    axis.set_xlabel("latency (ms)")
    axis.set_title(name, fontsize=10)
    axis.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axis.set_ylim(0.0, ROOM)
    axis.set_yticks([share / 5 for share in range(6)])
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8, loc="upper left")
