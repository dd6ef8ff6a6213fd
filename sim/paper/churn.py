"""Lookups while members come and go: ToN 2003, table III (they leave), and SIGCOMM 2001, figure 12 (they fail).

The members of the papers stabilize every 30 s on average and refresh one finger then. Ours pause for 30 to 40 s, and
for a quarter of that after any change in their lists of 20, so the more of them come and go, the more often they
stabilize. All fingers are refreshed in a round, which comes again after 60 to 300 s, later if nothing changes: about as
often as one at a time comes round. No split rings are looked for, since there are none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from chord.amounts import counted
from chord.settings import Settings
from sim.paper.churn_lookups import Lookups
from sim.paper.churning import MEAN_LATENCY_S, Churning, exponential
from sim.paper.counts import as_json, mean, percentile, total
from sim.paper.figure import Figure, Measured, Parameters, Result, Table, Value
from sim.paper.published import CHURN_FAILED, CHURN_PATH, CHURN_TIMEOUTS, TO_BE_CHECKED
from sim.paper.series import legend_below, series
from sim.paper.traced import Traced

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEAVES, CRASHES = "leaves", "crashes"
NODES = {LEAVES: 1_000, CRASHES: 500}
RATES = {LEAVES: tuple(sorted(CHURN_FAILED)), CRASHES: (0.01, 0.025, 0.05, 0.075, 0.1)}
LOOKUPS = {LEAVES: 10_000, CRASHES: 5_000}
CELLS = {LEAVES: 4, CRASHES: 2}
WARM_UP_S = 300.0
LOOKUPS_PER_S = 1.0
ANSWERED_WITHIN_S = 60.0
OF = 10_000

CRASHES_FAILED = {0.1: 300}
"""SIGCOMM 2001, figure 12: of 10,000, about 3 % where there are three failures in the time of a stabilization."""

ADDED = ("late", "erred", "wrong", "wrong_strictly", "failed_twice")
PATH, TIMEOUTS = (f"{name}, published ({TO_BE_CHECKED})" for name in ("path", "time-outs"))
FAILED = f"failed of {OF:,}, published (table III: {TO_BE_CHECKED})"
COLUMNS = (
    *("kind", "rate", "lookups", "path", "path p1", "path p99", PATH),
    *("time-outs", "time-outs p1", "time-outs p99", TIMEOUTS, "late replies"),
    *("failed", "failed strictly", "failed twice", FAILED, "bytes/node/s"),
)
SHOWN = (
    *("kind", "rate", "lookups", "path", PATH, "time-outs", TIMEOUTS),
    *("failed", "failed twice", FAILED),
)
NOTES = (
    "rate: joins, and leaves or crashes (kind), a second; path, time-outs: of a lookup, in the mean",
    f"failed: lookups that fail at first, failed twice: also when asked once more; of so many lookups, not of {OF:,}",
)

SETTINGS = Settings(
    successors=20, replicas=1, failures=0, stabilize_s=40.0, fingers_s=300.0, repair_s=3_600.0, heal_s=3_600.0
)


def cells(quick: bool) -> list[Parameters]:
    """For each kind and rate several rings, each asked a part of the lookups; the longest first."""
    found: list[Parameters] = []
    for kind in (LEAVES, CRASHES):
        for rate in (0.1, 0.05) if quick else reversed(RATES[kind]):
            for seed in range(1 if quick else CELLS[kind]):
                nodes, lookups = (100, 200) if quick else (NODES[kind], LOOKUPS[kind] // CELLS[kind])
                cell: Parameters = {"kind": kind, "rate": rate, "nodes": nodes, "lookups": lookups}
                cell["warm_up_s"] = 60.0 if quick else WARM_UP_S
                cell["seed"] = seed
                found.append(cell)
    return found


def measure(parameters: Parameters, traced: Traced) -> Result:
    """Lookups by random members of random keys, one a second on average, in a ring that has churned for a while."""
    seed, nodes, rate = int(parameters["seed"]), int(parameters["nodes"]), float(parameters["rate"])
    kind = str(parameters["kind"])
    ring = Churning(seed, SETTINGS, exponential(MEAN_LATENCY_S), nodes, rate, kind == CRASHES, traced=traced)
    ring.scheduler.run_for(float(parameters["warm_up_s"]))
    lookups = Lookups(ring, int(parameters["lookups"]), LOOKUPS_PER_S)
    began_at, sent, size = ring.now, ring.network.bytes, len(ring.nodes)
    ring.scheduler.poll_until(lambda: lookups.all_begun, lookups.count * 10.0, 1.0)
    node_seconds = (ring.now - began_at) * (size + len(ring.nodes)) / 2
    spent = ring.network.bytes - sent
    ring.scheduler.run_for(ANSWERED_WITHIN_S)
    return {
        "hops": as_json(lookups.hops),
        "timeouts": as_json(lookups.timeouts),
        "late": lookups.late,
        "wrong": lookups.wrong,
        "wrong_strictly": lookups.wrong_strictly,
        "erred": lookups.erred,
        "failed_twice": lookups.failed_twice,
        "bytes_a_node_and_second": spent / node_seconds,
        "refused": len(ring.refused),
    }


def table(measured: Sequence[Measured]) -> Table:
    """A row for each kind and rate; failures as they are, of so many lookups, and the published ones of 10,000."""
    rows: list[list[Value | None]] = []
    agrees = []
    groups = dict.fromkeys((str(one.parameters["kind"]), float(one.parameters["rate"])) for one in measured)
    for kind, rate in sorted(groups, key=lambda group: (group[0] != LEAVES, group[1])):
        results = [one.result for one in measured if (one.parameters["kind"], one.parameters["rate"]) == (kind, rate)]
        hops, timeouts = (total(result[name] for result in results) for name in ("hops", "timeouts"))
        lookups = sum(hops.values())
        added = {name: sum(result[name] for result in results) for name in ADDED}
        failed = added["erred"] + added["wrong"]
        published = (CHURN_FAILED if kind == LEAVES else CRASHES_FAILED).get(rate)
        of_papers = (CHURN_PATH.get(rate), CHURN_TIMEOUTS.get(rate)) if kind == LEAVES else (None, None)
        rows.append([
            kind, rate, lookups,
            mean(hops), percentile(hops, 1), percentile(hops, 99), of_papers[0],
            mean(timeouts), percentile(timeouts, 1), percentile(timeouts, 99), of_papers[1], added["late"] / lookups,
            failed, added["erred"] + added["wrong_strictly"], added["failed_twice"], published,
            sum(result["bytes_a_node_and_second"] for result in results) / len(results),
        ])  # fmt: skip
        where = f"{kind}, {rate:g} a second: of {lookups} lookups"
        agrees.append((f"{where} none fails that is asked once more", not added["failed_twice"]))
        if published is not None:
            at_most = published / OF * lookups
            agrees.append((f"{where} at most {at_most:g} fail at first", failed <= at_most))
    return Table(COLUMNS, rows, agrees, SHOWN, notes=NOTES)


def draw(axes: Axes, measured: Sequence[Measured]) -> None:
    """Failed lookups against the rate, and by the scale at the right mean path lengths and time-outs."""
    told = table(measured)
    right = axes.twinx()
    for kind, colour, source in ((LEAVES, "C0", "table III"), (CRASHES, "C3", "figure 12")):
        for name, style, rule in (("failed", "o-", ""), ("failed strictly", "s:", ", papers' rule")):
            rates, failed, lookups = series(told, "rate", name, "lookups", kind=kind)
            share = [OF * each / count for each, count in zip(failed, lookups, strict=True)]
            axes.plot(rates, share, style, color=colour, fillstyle="none", label=f"ours, {kind}: failed{rule}")
        axes.plot(*series(told, "rate", FAILED, kind=kind), "x", markersize=9, color=colour, label=f"{source}: failed")
    for name, published, colour in (("path", PATH, "C2"), ("time-outs", TIMEOUTS, "C1")):
        ours = series(told, "rate", name, kind=LEAVES)
        right.plot(*ours, ".--", color=colour, label=f"ours, {LEAVES}: {name} (right)")
        theirs = series(told, "rate", published, kind=LEAVES)
        right.plot(*theirs, "x", markersize=9, color=colour, label=f"table III: {name} (right)")
    axes.set_yscale("symlog", linthresh=1.0)
    axes.set_ylim(-0.1, 3 * OF)
    nodes = {str(one.parameters["kind"]): int(one.parameters["nodes"]) for one in measured}
    sizes = ", ".join(f"{kind}: {counted(number, 'node')}" for kind, number in nodes.items())
    axes.set_xlabel(f"joins, and leaves or crashes, a second ({sizes})")
    axes.set_ylabel(f"lookups of {OF:,} that fail at first")
    right.set_ylabel("path length, and time-outs, in the mean")
    right.set_ylim(0.0, 8.0)
    legend_below(axes, right, fontsize="x-small", ncols=3, title=f"crosses: published (table III: {TO_BE_CHECKED})")


FIGURE = Figure(
    "churn",
    "Lookups while members come and go",
    "Stoica et al., ToN 2003, table III; SIGCOMM 2001, figure 12",
    cells,
    measure,
    table,
    draw,
)
