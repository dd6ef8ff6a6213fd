"""Draws the measures of a snapshot: path lengths, in-degree, what passes through each member, and the ring itself."""

from __future__ import annotations

import math
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from experiments.overlay.measures import Metrics
from experiments.overlay.routing import Router
from experiments.overlay.snapshot import Snapshot

SIZE_INCHES = (10.0, 8.0)
DOTS_PER_INCH = 130
CHORDS_UP_TO = 64
"""Members of a ring whose every pointer is drawn; of a larger one those of the first member are."""


def draw(snapshot: Snapshot, metrics: Metrics, path: Path) -> None:
    """Write the picture as a PNG file."""
    figure = Figure(figsize=SIZE_INCHES, layout="constrained")
    (lengths, degrees), (load, ring) = figure.subplots(2, 2)
    _lengths(lengths, metrics)
    _degrees(degrees, metrics)
    _load(load, list(metrics.passed_by_member.values()))
    _ring(ring, snapshot)
    source = "real" if snapshot.source == "live" else f"simulated, seed {snapshot.seed}"
    figure.suptitle(f"{metrics.members} members ({source}), lists of {snapshot.successors}, cluster {snapshot.cluster}")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=DOTS_PER_INCH, format="png")


def _lengths(axis: Axes, metrics: Metrics) -> None:
    for place, (label, found) in enumerate((("lookups", metrics.greedy), ("shortest", metrics.shortest))):
        hops = [taken + (place - 0.5) * 0.4 for taken in found.distribution]
        axis.bar(hops, list(found.distribution.values()), 0.4, label=f"{label}: mean {found.mean:.2f}")
    axis.axvline(metrics.half_log2_n, color="#444444", linestyle="--", label=f"half log2 N: {metrics.half_log2_n:.2f}")
    axis.set_ylim(top=1.35 * axis.get_ylim()[1])
    axis.set_xlabel("forwards until somebody names the owner")
    axis.set_ylabel("share of all ways" if metrics.exact else f"share of the ways to {metrics.keys} keys")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axis.legend(loc="upper right")


def _degrees(axis: Axes, metrics: Metrics) -> None:
    axis.bar(list(metrics.in_degrees), list(metrics.in_degrees.values()), 0.9)
    axis.axvline(metrics.in_degree.mean, color="#444444", linestyle="--", label=f"mean {metrics.in_degree.mean:.1f}")
    axis.set_xlabel("in-degree: members that know a member")
    axis.set_ylabel("members")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.legend(loc="upper right")


def _load(axis: Axes, passed: list[float]) -> None:
    ordered = sorted(passed, reverse=True)
    axis.plot(range(1, len(ordered) + 1), ordered, drawstyle="steps-mid")
    mean = sum(ordered) / len(ordered)
    axis.axhline(mean, color="#444444", linestyle="--", label=f"mean {mean:.1%}")
    axis.set_xlabel("members, the busiest first")
    axis.set_ylabel("share of lookups through a member")
    axis.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=1))
    axis.set_ylim(bottom=0)
    axis.legend(loc="upper right")


def _ring(axis: Axes, snapshot: Snapshot) -> None:
    router = Router(snapshot)
    angles = [math.tau * identifier / router.size for identifier in router.ids]
    spots = [(math.sin(angle), math.cos(angle)) for angle in angles]
    drawn = range(len(spots)) if len(spots) <= CHORDS_UP_TO else range(1)
    for at in drawn:
        for other in router.known[at]:
            axis.plot(*zip(spots[at], spots[other], strict=True), color="C0", linewidth=0.6, alpha=0.35)
    axis.plot(*zip(*spots, strict=True), "o", color="C1", markersize=5 if len(spots) <= CHORDS_UP_TO else 2)
    axis.set_aspect("equal")
    axis.set_axis_off()
    whose = "all pointers" if len(drawn) > 1 else f"the pointers of {snapshot.members[0].id}"
    axis.set_title(f"identifiers clockwise from 0 at the top, {whose}", fontsize="medium")
