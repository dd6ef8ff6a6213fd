"""What each panel of the figures shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeVar

from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, PercentFormatter

from experiments.analysis.summary import (
    SOURCE_NAMES,
    ClientCount,
    HopCount,
    Latency,
    LatencyPoint,
    Lookups,
    RingSize,
    TimelinePoint,
)

__all__ = [
    "Axes",
    "by_second",
    "hop_bars",
    "hops_by_ring_size",
    "latency_by_clients",
    "latency_by_ring_size",
    "latency_steps",
]

OfSource = TypeVar("OfSource", RingSize, ClientCount)
Place = Literal["upper left", "upper right", "lower right"]

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999999", "#000000")
REFERENCE = "#444444"
MOST_LINES = 8
OUTLINE = withStroke(linewidth=4, foreground="white")


def hop_bars(axis: Axes, rows: Sequence[Lookups], counts: Sequence[HopCount]) -> None:
    """Bars of the share of answered lookups by hops, side by side by mode; lines at each mean and at half log2 N.

    The axis ends two hops after the 99th percentile, or at 4; a note says what lies beyond.
    """
    width = 0.8 / len(rows)
    last = last_hop(rows)
    for index, row in enumerate(rows):
        assert row.hops is not None
        own = {count.hops: count.count / row.ok for count in counts if count.mode == row.mode}
        places = [hops + (index - (len(rows) - 1) / 2) * width for hops in range(last + 1)]
        colour = COLOURS[index]
        label = f"{row.mode}: {row.ok:,} lookups"
        shares = [own.get(hops, 0.0) for hops in range(last + 1)]
        axis.bar(places, shares, width, color=colour, alpha=0.7, label=label)
        label = f"{row.mode}: mean {row.hops.mean:.2f}"
        axis.axvline(row.hops.mean, color=colour, linewidth=2, label=label, path_effects=[OUTLINE])
    _expected_hops(axis, rows[0])
    axis.set_xlim(-0.6, last + 0.6)
    axis.set_xlabel(" ".join(filter(None, ("hops", beyond(counts, last)))))
    axis.set_ylabel("share of answered lookups")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    _finish(axis, "upper right")
    low, high = axis.get_ylim()
    axis.set_ylim(low, high * 1.4)


def last_hop(rows: Sequence[Lookups]) -> int:
    """Where the axis of hops ends."""
    return max(4, *(row.hops.p99 + 2 for row in rows if row.hops is not None))


def beyond(counts: Sequence[HopCount], last: int) -> str:
    """What lies beyond the end of the axis of hops; nothing if nothing does."""
    outside = [count for count in counts if count.hops > last]
    if not outside:
        return ""
    return f"({sum(count.count for count in outside):,} lookups took more, up to {max(c.hops for c in outside)})"


def _expected_hops(axis: Axes, row: Lookups) -> None:
    """The ring's size, and the hops to expect at it; neither is known of traces without run.json."""
    axis.set_title("N unknown" if row.ring_size is None else f"N = {row.ring_size:,}", fontsize=10)
    if row.half_log2 is not None:
        label = f"half log$_2$ N = {row.half_log2:.2f}"
        axis.axvline(row.half_log2, color=REFERENCE, linestyle="--", linewidth=1.4, label=label)
    if row.expected_hops is not None:
        label = f"with lists of {row.successors}: {row.expected_hops:.2f}"
        axis.axvline(row.expected_hops, color=REFERENCE, linestyle=":", linewidth=1.6, label=label)


def latency_steps(axis: Axes, table: str, points: Sequence[LatencyPoint]) -> None:
    """Cumulative shares on a logarithmic axis. A topic's line is drawn only when there are few topics."""
    groups: dict[tuple[str, str, str | None], list[LatencyPoint]] = {}
    for point in points:
        groups.setdefault((point.run, point.mode, point.topic), []).append(point)
    if len(groups) > MOST_LINES:
        groups = {key: own for key, own in groups.items() if key[2] is None}
    topics = {mode: {key[2] for key in groups if key[1] == mode} for _, mode, _ in groups}
    several = len({run for run, _, _ in groups}) > 1
    shown = {key: own for key, own in groups.items() if key[2] is None or len(topics[key[1]]) > 2}
    for index, ((run, mode, topic), own) in enumerate(list(shown.items())[-MOST_LINES:]):
        p50, p99 = (next(point.latency_us for point in own if point.share >= share) for share in (0.5, 0.99))
        name = " ".join(filter(None, (run if several else "", mode, topic)))
        label = f"{name}: p50 {_time(p50)}, p99 {_time(p99)}"
        colour = COLOURS[index % len(COLOURS)]
        micros = [max(1, point.latency_us) for point in own]
        line = 1.1 if topic else 2.0
        axis.step(micros, [point.share for point in own], where="post", color=colour, linewidth=line, label=label)
        axis.plot([max(1, p50), max(1, p99)], [0.5, 0.99], "o", color=colour, markersize=5)
    axis.set_xscale("log")
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _time(value)))
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axis.set_ylim(0, 1.01)
    said = "deliveries: publisher to subscriber" if table == "delivery" else "lookups: until the owner is named"
    axis.set_title(said, fontsize=10)
    axis.set_xlabel("latency (logarithmic)")
    axis.set_ylabel(f"share of {'deliveries' if table == 'delivery' else 'answered lookups'}")
    _finish(axis, "lower right")


def hops_by_ring_size(axis: Axes, rows: Sequence[RingSize]) -> None:
    """Mean, median and 99th percentile by mode, beside half log2 N."""
    for index, (mode, found) in enumerate(_lines(rows).items()):
        own = [(row.ring_size, row.hops) for row in found if row.hops is not None]
        at = [size for size, _ in own]
        colour = COLOURS[index % len(COLOURS)]
        axis.plot(at, [hops.mean for _, hops in own], "o-", color=colour, label=f"{mode}: mean")
        axis.plot(at, [hops.p50 for _, hops in own], "_", color=colour, markersize=12, label=f"{mode}: median")
        axis.plot(at, [hops.p99 for _, hops in own], "^", color=colour, markersize=6, label=f"{mode}: p99")
    half = {row.ring_size: row.half_log2 for row in rows if row.half_log2 is not None}
    axis.plot(list(half), list(half.values()), "--", color=REFERENCE, label="half log$_2$ N")
    expected = {row.ring_size: row.expected_hops for row in rows if row.expected_hops is not None}
    with_list = "half log$_2$ N - half log$_2$ r + 1"
    axis.plot(list(expected), list(expected.values()), ":", color=REFERENCE, label=with_list)
    axis.set_ylim(0, 1.5 * axis.get_ylim()[1])  # room for the legend
    axis.set_ylabel("hops")
    _by_number(axis, [row.ring_size for row in rows], "ring size N (virtual nodes, logarithmic)")


def latency_by_ring_size(axis: Axes, rows: Sequence[RingSize]) -> None:
    """Median and 99th percentile of the time until the owner is named, by mode."""
    lines = _lines([row for row in rows if row.latency_us is not None]).items()
    _latency_lines(
        axis,
        [(name, row.ring_size, row.latency_us) for name, own in lines for row in own if row.latency_us is not None],
    )
    axis.set_ylabel("lookup latency (logarithmic)")
    _by_number(axis, [row.ring_size for row in rows], "ring size N (virtual nodes, logarithmic)")


def latency_by_clients(axis: Axes, rows: Sequence[ClientCount]) -> None:
    """Median and 99th percentile from publisher to subscriber, by mode."""
    lines = _lines(rows).items()
    _latency_lines(axis, [(name, row.clients, row.latency_us) for name, own in lines for row in own])
    axis.set_ylabel("delivery latency (logarithmic)")
    _by_number(axis, [row.clients for row in rows], "publishers and subscribers (logarithmic)")


def _lines(rows: Sequence[OfSource]) -> dict[str, list[OfSource]]:
    """The rows of each line by its name: a mode, and where the rows have different ones, a source."""
    mixed = len({row.source for row in rows}) > 1
    found: dict[str, list[OfSource]] = {}
    for row in rows:
        found.setdefault(f"{row.mode}, {SOURCE_NAMES[row.source]}" if mixed else row.mode, []).append(row)
    return found


def _latency_lines(axis: Axes, points: Sequence[tuple[str, int, Latency]]) -> None:
    """Two lines a mode, of (mode, number, latency)."""
    for index, mode in enumerate(dict.fromkeys(mode for mode, _, _ in points)):
        own = [(number, latency) for each, number, latency in points if each == mode]
        at = [number for number, _ in own]
        colour = COLOURS[index % len(COLOURS)]
        axis.plot(at, [latency.p50 for _, latency in own], "o-", color=colour, label=f"{mode}: median")
        axis.plot(at, [latency.p99 for _, latency in own], "^--", color=colour, label=f"{mode}: p99")
    axis.set_yscale("log")
    low, high = axis.get_ylim()
    axis.set_ylim(low, high * (high / low) ** 0.4)  # room for the legend
    axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _time(value)))
    axis.yaxis.set_minor_formatter(NullFormatter())


def _by_number(axis: Axes, numbers: Sequence[int], label: str) -> None:
    """A logarithmic axis that shows just these numbers."""
    shown = sorted(set(numbers))
    axis.set_xscale("log", base=2)
    axis.set_xticks(shown, [f"{number:,}" for number in shown])
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.set_xlabel(label)
    _finish(axis, "upper left")


def by_second(axis: Axes, points: Sequence[TimelinePoint], kills_s: Mapping[str, float]) -> None:
    """Deliveries and lookups each second on a logarithmic axis, so that rare failures show; events as ticks.

    `kills_s` says who was killed, and when, in seconds since the start of the run.
    """
    flows = [kind for kind in dict.fromkeys(point.kind for point in points) if _is_flow(kind)]
    for index, kind in enumerate(flows):
        own = {point.second: point.count for point in points if point.kind == kind}
        seconds = range(min(own), max(own) + 1)
        dense = len(own) > len(seconds) / 2
        style = "-" if dense else "x"
        xs = list(seconds) if dense else sorted(own)
        axis.plot(xs, [own.get(x, 0) for x in xs], style, color=COLOURS[index], label=f"{kind} a second")
    for index, kind in enumerate(dict.fromkeys(point.kind for point in points if not _is_flow(point.kind))):
        at = [point.second + 0.5 for point in points if point.kind == kind]
        total = sum(point.count for point in points if point.kind == kind)
        colour = COLOURS[-1 - index % len(COLOURS)]
        height = 0.02 + 0.03 * index
        axis.plot(
            at, [height] * len(at), "|", color=colour, transform=axis.get_xaxis_transform(), label=f"{kind} ({total})"
        )
    for (who, at_s), style in zip(kills_s.items(), ("--", ":"), strict=False):
        axis.axvline(at_s, color="#d55e00", linestyle=style, linewidth=1.4, label=f"kill -9 of a {who} at {at_s:.1f} s")
    axis.set_yscale("symlog", linthresh=1)
    axis.set_ylim(0, 30 * max(point.count for point in points))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axis.set_xlabel("seconds since the start of the run")
    axis.set_ylabel("count a second (logarithmic)")
    _finish(axis, "upper left", columns=3)


def _is_flow(kind: str) -> bool:
    return kind == "delivery" or kind.startswith("lookup ")


def _finish(axis: Axes, legend: Place, columns: int = 1) -> None:
    axis.grid(True, which="major", color="0.9")
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(loc=legend, fontsize=8, framealpha=0.9, ncols=columns)


def _time(micros: float) -> str:
    """A time in the unit that reads best: us, ms or s."""
    for factor, unit in ((1e6, "s"), (1e3, "ms")):
        if micros >= factor:
            return f"{micros / factor:.3g} {unit}"
    return f"{micros:.3g} us"
