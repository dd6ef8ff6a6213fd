"""Lookups right after many nodes failed at once, with nothing repaired (ToN 2003, table II); and with short lists.

Path and time-outs are counted as the table does: living members asked after the first one, up to the key's predecessor,
and the dead asked on the way. The owner is asked for as well, and must be the first living member at or after the key.
Rings differ by a tenth and more in their time-outs, so that ours are told with how far rings lie apart: the reference
is one ring for each share.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from statistics import stdev
from typing import TYPE_CHECKING

from chord.errors import LookupFailed
from chord.host import Host
from chord.lookup import Walk, find_owner
from chord.messages import NextHop
from sim.at_once import Asker, AtOnce
from sim.paper.counts import as_json, mean, percentile, total
from sim.paper.figure import Figure, Measured, Parameters, Result, Table
from sim.paper.published import (
    FAILURES_OF_FOUR_REFERENCE,
    FAILURES_PATH,
    FAILURES_PATH_REFERENCE,
    FAILURES_TIMEOUTS,
    FAILURES_TIMEOUTS_REFERENCE,
    TO_BE_CHECKED,
)
from sim.paper.rings import TableRule, ideal
from sim.paper.series import series
from sim.paper.traced import Traced

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NODES = 1_000
LONG, SHORT = 20, 4
SHORT_FAILS_FROM = 0.2
FAILED = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
RINGS, LOOKUPS = 4, 250
"""Of a cell, and of each ring."""

TOLERANCE = 0.05
PATH, TIMEOUTS = (f"published {name} ({TO_BE_CHECKED})" for name in ("path", "time-outs"))
SHOWN = (
    *("list", "failed", "path", PATH, "reference path"),
    *("time-outs", TIMEOUTS, "reference time-outs"),
    *("lost", "reference lost or wrong"),
)
NOTES = (
    "list: entries of a successor list; failed: the probability with which each node has failed",
    "path, time-outs: living and dead members that a lookup asks after the first one, in the mean",
    "lost: lookups that fail, of 10,000; reference: of a reference simulator, lost or wrong of 9,999",
)


def cells(quick: bool) -> list[Parameters]:
    """For each share of failed nodes some rings, the same ones; half as many with lists that are too short."""
    parts = {LONG: 1, SHORT: 1} if quick else {LONG: 10, SHORT: 5}
    rings = 1 if quick else RINGS
    return [
        {"nodes": NODES, "successors": successors, "failed": failed, "rings": rings, "lookups": LOOKUPS, "seed": seed}
        for successors, count in parts.items()
        for failed in FAILED
        for seed in range(count)
    ]


def measure(parameters: Parameters, traced: Traced) -> Result:
    """Lookups by production code, and by the table's rule alone."""
    nodes, successors, lookups = (int(parameters[name]) for name in ("nodes", "successors", "lookups"))
    counted = _Counted()
    for ring in range(int(parameters["rings"])):
        seed = int(parameters["seed"]) * 1_000 + ring
        hosts = ideal(nodes, successors, seed)
        rule = TableRule([host.members[0].me.id for host in hosts], successors)
        rng = random.Random(f"{seed}/{parameters['failed']}")
        living = [host for host in hosts if rng.random() >= float(parameters["failed"])]
        counted.look_up(living, rule, lookups, rng, traced)
    return counted.result()


class _Counted:
    """What is counted of the lookups of a cell."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[int]] = {
            name: Counter() for name in ("hops", "timeouts", "rule hops", "rule timeouts")
        }
        self._lost = self._wrong = self._lookups = 0
        self._ring_timeouts: list[float] = []

    def look_up(self, living: list[Host], rule: TableRule, lookups: int, rng: random.Random, traced: Traced) -> None:
        members = sorted(host.members[0].me.id for host in living)
        alive = set(members)
        ring = AtOnce(living)
        space = living[0].settings.space
        on_this_ring: Counter[int] = Counter()
        for _ in range(lookups):
            walk = Walk(rng.getrandbits(space.bits))
            host = rng.choice(living)
            first = host.members[0].me
            ring.unanswered.clear()
            try:
                owner = ring.finish(find_owner(Asker(), space, [first], walk))
            except LookupFailed as error:
                traced.walked(host, walk, error)
                self._lost += 1
            else:
                traced.walked(host, walk)
                self._wrong += owner.id != members[bisect_left(members, walk.key) % len(members)]
            if walk.owners:
                self._counts["hops"][walk.hops] += 1
                on_this_ring[ring.unanswered[NextHop]] += 1
            hops, timeouts = rule.walk(first.id, walk.key, alive)
            self._counts["rule hops"][hops] += 1
            self._counts["rule timeouts"][timeouts] += 1
        self._lookups += lookups
        self._counts["timeouts"].update(on_this_ring)
        self._ring_timeouts.append(mean(on_this_ring) if on_this_ring else 0.0)

    def result(self) -> Result:
        counts = {name: as_json(found) for name, found in self._counts.items()}
        told = {"lookups": self._lookups, "lost": self._lost, "wrong": self._wrong}
        return {**told, **counts, "ring timeouts": self._ring_timeouts}


def _close(ours: float, other: float) -> bool:
    return abs(ours - other) <= TOLERANCE * other


def table(measured: Sequence[Measured]) -> Table:
    """A row for each length of the lists and share of failed nodes; `lost` and `wrong` are of 10,000 lookups."""
    rows: list[list[int | float | str | None]] = []
    agrees = []
    for successors in dict.fromkeys(int(one.parameters["successors"]) for one in measured):
        for failed in dict.fromkeys(float(one.parameters["failed"]) for one in measured):
            kind = {"successors": successors, "failed": failed}
            found = [one.result for one in measured if kind.items() <= one.parameters.items()]
            hops, timeouts, rule_hops, rule_timeouts = (
                total(one[name] for one in found) for name in ("hops", "timeouts", "rule hops", "rule timeouts")
            )
            lookups, lost, wrong = (sum(one[name] for one in found) for name in ("lookups", "lost", "wrong"))
            path, waits = mean(hops), mean(timeouts)
            row: list[int | float | str | None] = [successors, failed, lookups]
            row += [path, percentile(hops, 99), mean(rule_hops)]
            rings = [each for one in found for each in one["ring timeouts"]]
            apart = stdev(rings) if len(rings) > 1 else 0.0
            row += [waits, percentile(timeouts, 99), apart, mean(rule_timeouts)]
            row += [lost * 10_000 / lookups, wrong * 10_000 / lookups]
            name = f"lists of {successors}, {failed:.0%} failed"
            by_rule = _close(path, mean(rule_hops)) and _close(waits, mean(rule_timeouts))
            agrees.append(
                (f"{name}: path and time-outs within {TOLERANCE:.0%} of the rule's on the same rings", by_rule)
            )
            if successors == LONG:
                known = FAILURES_PATH_REFERENCE[failed], FAILURES_TIMEOUTS_REFERENCE[failed]
                row += [FAILURES_PATH[failed], FAILURES_TIMEOUTS[failed], *known, 0]
                agrees.append(
                    (f"{name}: path within {TOLERANCE:.0%} of the reference's {known[0]}", _close(path, known[0]))
                )
                close = _close(waits, known[1])
                agrees.append((f"{name}: time-outs within {TOLERANCE:.0%} of the reference's {known[1]}", close))
                usual = abs(waits - known[1]) <= 2 * apart
                agrees.append((f"{name}: the reference's time-outs are those of some ring of ours (2 sd)", usual))
                agrees.append((f"{name}: no lookup fails, none ends at a wrong owner", lost + wrong == 0))
            else:
                row += [None, None, None, None, FAILURES_OF_FOUR_REFERENCE[failed]]
                if failed >= SHORT_FAILS_FROM:
                    agrees.append((f"{name}: lookups fail", lost + wrong > 0))
            rows.append(row)
    columns = ["list", "failed", "lookups", "path", "path p99", "path by rule"]
    columns += ["time-outs", "time-outs p99", "sd of rings", "time-outs by rule", "lost", "wrong"]
    columns += [PATH, TIMEOUTS, "reference path", "reference time-outs", "reference lost or wrong"]
    return Table(columns, rows, agrees, SHOWN, notes=NOTES)


def draw(axes: Axes, measured: Sequence[Measured]) -> None:
    """Path and time-outs against the share of failed nodes, with lists that are long enough."""
    told = table(measured)
    for column, published, colour in (("path", PATH, "C0"), ("time-outs", TIMEOUTS, "C1")):
        axes.plot(*series(told, "failed", column, list=LONG), "o-", color=colour, label=f"ours, {column}")
        label = f"published ({TO_BE_CHECKED}), {column}"
        axes.plot(*series(told, "failed", published), "x", color=colour, markersize=9, label=label)
        axes.plot(*series(told, "failed", f"reference {column}"), "+", color=colour, label=f"reference, {column}")
    axes.set_xlabel("probability that a node has failed")
    axes.set_ylabel(f"members asked: living ones, dead ones (lists of {LONG})")
    axes.legend()


FIGURE = Figure(
    "failures",
    "Lookups right after nodes failed at once, 1,000 nodes",
    "Stoica et al., ToN 2003, table II",
    cells,
    measure,
    table,
    draw,
)
