"""Lookups and records through a network split and its healing, second by second: a figure of our own.

64 nodes are cut 40 to 24. Either side becomes a ring of its own, which answers and takes puts; when they meet again the
members of one join the other. Right is what the members of the asker's own side say during the cut, and what all say
from its end on, so that two rings that do not know yet of each other count as wrong. Nothing is asked twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from chord.amounts import counted
from sim.paper.counts import percentile, total
from sim.paper.figure import Figure, Measured, Parameters, Result, Table, Value
from sim.paper.series import one_legend, series
from sim.paper.splitting import GET, GET_OTHER, LOOKUP, PUT, Splitting
from sim.paper.traced import Traced

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ONE_RING_WITHIN_S = 30.0
BEFORE_S = 10

COLUMNS = (
    *("second", "rings", "lookups right", "lookups wrong", "lookups failed", "median ms"),
    *("gets right", "gets failed", "gets without a copy", "puts taken", "the other side's found"),
)
SHOWN = tuple(column for column in COLUMNS if column != "gets failed")

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
    return Table(COLUMNS, rows, _agrees(results), SHOWN)


def _agrees(results: Sequence[Result]) -> list[tuple[str, bool]]:
    """What is expected of how long the changes last, of the seconds without any, and of the records."""
    in_each = f"in each of {counted(len(results), 'run')}"
    two_rings = all(result["two_rings_s"] is not None for result in results)
    one_ring = all(result["one_ring_s"] is not None for result in results)
    slowest_s = max(result["one_ring_s"] - result["heal_s"] for result in results) if one_ring else math.inf
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
    one_ring = [one.result["one_ring_s"] for one in measured if one.result["one_ring_s"] is not None]
    marks = {"cut": 0.0, "healed": float(measured[0].result["heal_s"])}
    if one_ring:
        marks["one ring (median)"] = sorted(one_ring)[len(one_ring) // 2]
    for name, second in marks.items():
        axes.axvline(second, color="0.3", linewidth=0.8)
        axes.annotate(name, (second, 2.3), xytext=(3, 0), textcoords="offset points", fontsize="small")
    axes.set_ylim(-0.05, 2.4)
    right.set_yscale("log")
    right.set_ylim(1.0, 2_000.0)
    axes.set_xlabel("seconds of virtual time after the cut")
    axes.set_ylabel(f"share of the answers; number of rings (runs: {len(measured)})")
    right.set_ylabel("median latency of a lookup, ms")
    one_legend(axes, right, fontsize="small", loc="lower right", bbox_to_anchor=(1.0, 0.07))


FIGURE = Figure(
    "split",
    "Lookups and records through a network split and its healing",
    "a figure of our own",
    cells,
    measure,
    table,
    draw,
)
