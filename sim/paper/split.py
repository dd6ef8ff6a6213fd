"""Lookups and records through a network split and its healing, second by second: a figure of our own.

64 nodes are cut 40 to 24. Either side becomes a ring of its own, which answers and takes puts; when they meet again the
members of one join the other. Right is what the members of the asker's own side say during the cut, and what all say
from its end on, so that two rings that do not know yet of each other count as wrong. Nothing is asked twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import median_low
from typing import TYPE_CHECKING

from chord.amounts import counted
from sim.paper.counts import percentile, total
from sim.paper.figure import Figure, Measured, Parameters, Result, Table, Value
from sim.paper.series import legend_below, series
from sim.paper.splitting import GET, GET_OTHER, LOOKUP, PUT, Splitting
from sim.paper.traced import Traced

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ONE_RING_WITHIN_S = 30.0
BEFORE_S = 10
AROUND = range(-2, 5)
"""The seconds about a change that a terminal has room for."""

COLUMNS = (
    *("second", "rings", "lookups right", "lookups wrong", "lookups failed", "median ms"),
    *("gets right", "gets failed", "gets without a copy", "puts taken", "the other side's found"),
)
SHOWN = tuple(column for column in COLUMNS if column != "gets failed")

NOTES = (
    "rings: how many, in the mean of the runs; median: latency of a lookup; all others: shares of what was asked then",
    "gets without a copy: nothing was found, on a side without a copy; `-`: nothing was asked",
)

SHARES = {
    "lookups right": "C0-",
    "lookups failed": "C3-",
    "gets right": "C2-",
    "gets without a copy": "C2:",
    "puts taken": "C4-",
    "the other side's found": "C1-",
}


def cells(quick: bool) -> list[Parameters]:
    """Some runs that differ in nothing but chance."""
    size: Parameters = {"nodes": 64, "cut_off": 24, "cut_s": 60, "after_s": 60}
    if quick:
        size = {"nodes": 24, "cut_off": 9, "cut_s": 30, "after_s": 30}
    return [{**size, "seed": seed} for seed in range(1 if quick else 8)]


def measure(parameters: Parameters, traced: Traced) -> Result:
    """One run: what was asked each second and what came of it, how many rings there were, and what was kept."""
    seed, nodes, cut_off = (int(parameters[name]) for name in ("seed", "nodes", "cut_off"))
    run = Splitting(seed, nodes, cut_off, traced)
    return run.run(BEFORE_S, int(parameters["cut_s"]), int(parameters["after_s"]))


def table(measured: Sequence[Measured]) -> Table:
    """A row for each second from the cut on: shares of what was asked then on both sides, of all runs together."""
    results = [one.result for one in measured]
    seconds = [int(second) for second in results[0]["rings"]]
    rows = []
    for second in seconds:
        lookup, get, put, other = (
            [row for result in results for row in result["seconds"] if (row["second"], row["kind"]) == (second, kind)]
            for kind in (LOOKUP, GET, PUT, GET_OTHER)
        )
        latencies = total(row["latencies_ms"] for row in lookup)
        row: list[Value | None] = [second, sum(result["rings"][str(second)] for result in results) / len(results)]
        row += [_share(lookup, "right"), _share(lookup, "wrong"), _share(lookup, "failed")]
        row += [percentile(latencies, 50) if latencies else None]
        row += [_share(get, "right"), _share(get, "failed"), _share(get, "absent")]
        row += [_share(put, "right"), _share(other, "right")]
        rows.append(row)
    return Table(COLUMNS, rows, _agrees(results), SHOWN, _telling(seconds, results), [_in_short(results), *NOTES])


def _telling(seconds: Sequence[int], results: Sequence[Result]) -> list[int]:
    """The rows around the cut, the healing and the moment from which there is one ring, and those at both ends."""
    marks = [0, int(results[0]["heal_s"])]
    if one_ring := _one_ring(results):
        marks.append(int(median_low(one_ring)))
    around = {mark + aside for mark in marks for aside in AROUND}
    return [at for at, second in enumerate(seconds) if second in around or at in (0, len(seconds) - 1)]


def _one_ring(results: Sequence[Result]) -> list[float]:
    """The seconds from which there was one ring again, of those runs in which there was."""
    return [result["one_ring_s"] for result in results if result["one_ring_s"] is not None]


def _in_short(results: Sequence[Result]) -> str:
    """What the seconds come to: how soon there was one ring, and what was lost."""
    runs, one_ring = counted(len(results), "run"), _one_ring(results)
    records, kept = (sum(one[name] for one in results) for name in ("records", "kept"))
    lost = f"records lost {records - kept} of {records}"
    if len(one_ring) < len(results):
        return f"no single ring after the healing in {len(results) - len(one_ring)} of {runs}; {lost}"
    middle_s, slowest_s = (pick(one_ring) - results[0]["heal_s"] for pick in (median_low, max))
    of_all = f" in the median of {runs}, {slowest_s:.1f} s in the slowest" if len(results) > 1 else ""
    return f"one ring {middle_s:.1f} s after the healing{of_all}; {lost}"


def _agrees(results: Sequence[Result]) -> list[tuple[str, bool]]:
    """What is expected of how long the changes last, of the seconds without any, and of the records."""
    in_each = f"in each of {counted(len(results), 'run')}"
    two_rings = all(result["two_rings_s"] is not None for result in results)
    one_ring = _one_ring(results)
    slowest_s = max(one_ring) - results[0]["heal_s"] if len(one_ring) == len(results) else math.inf
    agrees = [
        (f"two rings before the healing {in_each}", two_rings),
        (f"one ring within {ONE_RING_WITHIN_S:.0f} s of the healing {in_each}", slowest_s <= ONE_RING_WITHIN_S),
        (f"every record is there in the end {in_each}", all(one["kept"] == one["records"] for one in results)),
    ]
    for name, calm in CALM.items():
        rows = [row for one in results for row in one["seconds"] if row["kind"] == LOOKUP and calm(row["second"], one)]
        agrees.append((f"every lookup right {name}", _share(rows, "right") == 1.0))
    return agrees


def _before(second: int, _result: Result) -> bool:
    return second < -1


def _apart(second: int, result: Result) -> bool:
    return result["two_rings_s"] is not None and result["two_rings_s"] <= second < result["heal_s"] - 1


def _after(second: int, result: Result) -> bool:
    return result["one_ring_s"] is not None and result["one_ring_s"] <= second


CALM: dict[str, Callable[[int, Result], bool]] = {
    "before the cut": _before,
    "from two rings to the healing": _apart,
    "from one ring on": _after,
}


def _share(rows: Sequence[Result], of: str) -> float | None:
    """How many of all that was asked came out so; None if nothing was asked."""
    asked = sum(row[name] for row in rows for name in ("right", "wrong", "failed", "absent"))
    return sum(row[of] for row in rows) / asked if asked else None


def draw(axes: Axes, measured: Sequence[Measured]) -> None:
    """Shares and the number of rings against time, latency by the scale at the right; when what happened."""
    told = table(measured)
    right = axes.twinx()
    for column, style in SHARES.items():
        axes.plot(*series(told, "second", column), style, label=column)
    axes.plot(*series(told, "second", "rings"), "k:", label="number of rings")
    right.plot(*series(told, "second", "median ms"), color="0.6", linewidth=1, label="lookups: median latency (right)")
    one_ring = _one_ring([one.result for one in measured])
    marks = {"cut": 0.0, "healed": float(measured[0].result["heal_s"])}
    if one_ring:
        marks["one ring (median)"] = median_low(one_ring)
    for name, second in marks.items():
        axes.axvline(second, color="0.3", linewidth=0.8)
        aside, side = (-3, "right") if name == "healed" else (3, "left")
        axes.annotate(name, (second, 2.3), xytext=(aside, 0), textcoords="offset points", fontsize="small", ha=side)
    axes.set_ylim(-0.05, 2.4)
    right.set_yscale("log")
    right.set_ylim(1.0, 2_000.0)
    axes.set_xlabel("seconds of virtual time after the cut")
    axes.set_ylabel(f"share of the answers; number of rings (runs: {len(measured)})")
    right.set_ylabel("median latency of a lookup, ms")
    legend_below(axes, right, fontsize="small", ncols=3)


FIGURE = Figure(
    "split",
    "Lookups and records through a network split and its healing",
    "a figure of our own",
    cells,
    measure,
    table,
    draw,
)
