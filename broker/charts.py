"""Draws what clients measured: latencies over time and their distribution, or the rate of publishing over time.

matplotlib and NumPy are in the extra `analysis`; whoever imports this module has asked for them.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, PercentFormatter
from numpy.typing import NDArray

from broker.measures import LATENCY_ROW, RATE_ROW

Numbers = NDArray[np.int64]
Reals = NDArray[np.float64]

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999999", "#000000")
MOST_POINTS = 100_000
"""Points of a figure; of more samples every second, third, ... one is drawn, and the figure says so."""

MOST_LABELS = 8
MOST_BINS = 120
LEAST_US = 1.0
"""What a logarithmic axis begins with: the clocks that times are taken from count microseconds."""


class Series(NamedTuple):
    """One dot colour: `at_us` in the order of arrival."""

    label: str
    at_us: Numbers
    latency_us: Numbers


def draw_latencies(path: Path, topics: list[str], files: list[IO[bytes]]) -> bool:
    """Draw the rows of broker/measures.py, a file a subscriber; False, and no figure, if there is none."""
    series = latencies_by_label(topics, [rows_of(file, len(LATENCY_ROW)) for file in files])
    if not series:
        return False
    figure = Figure(figsize=(11.0, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    total = sum(len(each.at_us) for each in series)
    step = -(-total // MOST_POINTS)
    first_us = min(int(each.at_us[0]) for each in series)
    for number, each in enumerate(series):
        colour = COLOURS[number % len(COLOURS)]
        label = each.label if len(series) <= MOST_LABELS else None
        at_s = (each.at_us[::step] - first_us) / 1e6
        left.plot(at_s, _floored(each.latency_us[::step]), ".", color=colour, markersize=3, label=label)
        if label:
            _distribution(right, each.latency_us, colour, f"{each.label}: ")
    if len(series) > MOST_LABELS:
        _distribution(right, np.concatenate([each.latency_us for each in series]), COLOURS[0], "all: ")
    left.set_yscale("log")
    left.yaxis.set_major_formatter(FuncFormatter(lambda value, _: as_time(value)))
    left.yaxis.set_minor_formatter(NullFormatter())
    left.set_xlabel("seconds since the first sample came")
    left.set_ylabel("latency (logarithmic)")
    right.set_xscale("log")
    right.xaxis.set_major_formatter(FuncFormatter(lambda value, _: as_time(value)))
    right.xaxis.set_minor_formatter(NullFormatter())
    right.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    right.set_ylim(0, 1.01)
    right.set_xlabel("latency (logarithmic)")
    right.set_ylabel("share of samples that took so long or less")
    shown = f"each dot is a sample, of which one in {step} is drawn" if step > 1 else "each dot is a sample"
    left.set_title(f"{shown}; by the clocks of both sides", fontsize=9)
    right.legend(loc="lower right", fontsize=8)
    _finish(figure, [left, right], f"Latency of {total:,} samples on {_listed(topics)}", path)
    return True


def draw_rates(path: Path, asked: float, files: list[IO[bytes]]) -> bool:
    """Draw samples per second as `publish` took them, a file a publisher; False, and no figure, if there is none."""
    counted = [rows for file in files if len(rows := rows_of(file, len(RATE_ROW)))]
    if not counted:
        return False
    figure = Figure(figsize=(8.0, 4.6), layout="constrained")
    axis = figure.subplots()
    first_us = min(int(rows[0, 0]) for rows in counted)
    total = sum(int(rows[-1, 1]) for rows in counted)
    for number, rows in enumerate(counted):
        at_s, rate = rate_by_bin(rows)
        label = f"publisher {number + 1}: {int(rows[-1, 1]):,} samples" if len(counted) <= MOST_LABELS else None
        at_s += (int(rows[0, 0]) - first_us) / 1e6
        axis.stairs(rate, at_s, color=COLOURS[number % len(COLOURS)], linewidth=1.6, baseline=None, label=label)
    if asked:
        axis.axhline(asked, color="#444444", linestyle="--", linewidth=1.2, label=f"--rate {asked:g}")
    axis.set_ylim(bottom=0)
    axis.set_xlabel("seconds since the first sample")
    axis.set_ylabel("samples per second and publisher")
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    if asked or len(counted) <= MOST_LABELS:
        axis.legend(loc="lower left", fontsize=8)
    _finish(figure, [axis], f"Rate of {total:,} samples of {len(counted)} publishers", path)
    return True


def rows_of(file: IO[bytes], columns: int) -> Numbers:
    """All that a client wrote; a row that it was killed in the middle of does not count."""
    file.seek(0)
    written = file.read()
    whole = len(written) // (8 * columns) * columns
    return np.frombuffer(written, dtype=np.int64, count=whole).reshape(-1, columns)


def latencies_by_label(topics: list[str], measured: list[Numbers]) -> list[Series]:
    """The rows by subscriber if there are several, else by topic; those alone that received anything."""
    if len(measured) > 1:
        parts = [(f"subscriber {number}", rows) for number, rows in enumerate(measured, 1)]
    else:
        parts = [(topic, measured[0][measured[0][:, 2] == number]) for number, topic in enumerate(topics)]
    return [Series(label, rows[:, 0], rows[:, 1]) for label, rows in parts if len(rows)]


def rate_by_bin(rows: Numbers) -> tuple[Reals, Reals]:
    """Edges in seconds since the first row, and the rate between each two of them, of counts at some times."""
    at_s = (rows[:, 0] - rows[0, 0]) / 1e6
    length_s = max(float(at_s[-1]), 1e-3)
    bins = int(np.clip(length_s, 1, MOST_BINS)) if length_s >= 10 else max(1, min(20, len(rows) - 1))
    edges = np.linspace(0.0, length_s, bins + 1)
    counts = np.interp(edges, at_s, rows[:, 1])
    return edges, np.diff(counts) / np.diff(edges)


def as_time(micros: float) -> str:
    """A time in the unit that reads best: us, ms or s."""
    for factor, unit in ((1e6, "s"), (1e3, "ms")):
        if micros >= factor:
            return f"{micros / factor:.3g} {unit}"
    return f"{micros:.3g} us"


def _distribution(axis: Axes, latency_us: Numbers, colour: str, label: str) -> None:
    """Cumulative shares of at most a thousand steps, with the median and the 99th percentile."""
    ordered = np.sort(_floored(latency_us))
    shares = np.linspace(0.0, 1.0, min(len(ordered), 1_000) + 1)[1:]
    places = np.ceil(shares * len(ordered)).astype(np.int64) - 1
    p50, p99 = (ordered[int(np.ceil(share * len(ordered))) - 1] for share in (0.5, 0.99))
    said = f"{label}p50 {as_time(p50)}, p99 {as_time(p99)}, max {as_time(ordered[-1])}"
    axis.step(ordered[places], shares, where="post", color=colour, linewidth=1.8, label=said)
    axis.plot([p50, p99], [0.5, 0.99], "o", color=colour, markersize=5)


def _floored(latency_us: Numbers) -> Reals:
    """Where a logarithmic axis can show them; clocks of two machines may even make a latency negative."""
    return np.maximum(latency_us.astype(np.float64), LEAST_US)


def _listed(topics: list[str]) -> str:
    return ", ".join(topics[:4]) + (f" and {len(topics) - 4} more" if len(topics) > 4 else "")


def _finish(figure: Figure, axes: list[Axes], title: str, path: Path) -> None:
    for axis in axes:
        axis.grid(True, which="major", color="0.9")
        axis.set_axisbelow(True)
        axis.spines[["top", "right"]].set_visible(False)
    figure.suptitle(title, fontsize=12, fontweight="bold")
    figure.savefig(path, dpi=130)
