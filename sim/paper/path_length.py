"""Path length against the number of nodes (SIGCOMM 2001, figure 10): fingers alone, and with successor lists."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sim.paper.counts import as_json, mean, percentile, standard_error, total
from sim.paper.figure import Figure, Measured, Parameters, Result, Table
from sim.paper.published import PATH_FINGERS, PATH_LISTS, half_log2
from sim.paper.rings import BITS, TableRule, ideal, path_lengths
from sim.paper.series import bars, series
from sim.paper.traced import Traced

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POWERS = range(3, 15)
CELLS = {"fingers": 4, "lists": 2}
"""Cells of each size: with lists, rings of one size lie closer together."""
NOTES = (
    "kind: fingers alone, or with successor lists of 2 log2 N entries; mean, p1, p99: hops to the key's predecessor",
    "ref.: the mean of a reference simulator; law: half log2 N - 0.138, for fingers alone from 1,024 nodes on",
)
TOLERANCE = 0.02
STANDARD_ERROR = 0.005


def cells(quick: bool) -> list[Parameters]:
    """For each size and kind a few cells of several rings: the fewer nodes, the farther rings lie apart."""
    found: list[Parameters] = []
    for power in reversed(range(3, 12) if quick else POWERS):
        rings = max(4, round(190 * 2 ** (-(power - 3) / 2)))
        for kind, parts in CELLS.items():
            for part in range(1 if quick else parts):
                number = max(1, rings // 8) if quick else rings
                lookups = (4_000 if quick else 60_000) // number
                found.append({"nodes": 1 << power, "kind": kind, "rings": number, "lookups": lookups, "seed": part})
    return found


def measure(parameters: Parameters, traced: Traced) -> Result:
    """Hops of lookups in each ring, by production code; of small rings also by brute force, for the same lookups."""
    nodes, lookups = int(parameters["nodes"]), int(parameters["lookups"])
    fingers = parameters["kind"] == "fingers"
    together: Counter[int] = Counter()
    means, differ = [], 0
    for ring in range(int(parameters["rings"])):
        seed = int(parameters["seed"]) * 1_000 + ring
        hosts = ideal(nodes, 1 if fingers else 2 * int(math.log2(nodes)), seed)
        counts = path_lengths(hosts, lookups, random.Random(f"{seed}/lookups"), traced)
        if fingers and half_log2(nodes) is None:
            identifiers = [host.members[0].me.id for host in hosts]
            differ += counts != brute_force(identifiers, lookups, random.Random(f"{seed}/lookups"))
        together.update(counts)
        means.append(mean(counts))
    return {"counts": as_json(together), "means": means, "differ": differ}


def brute_force(identifiers: list[int], lookups: int, rng: random.Random) -> Counter[int]:
    """The same lookups by nothing but sorted identifiers and the definition of a finger."""
    rule, alive = TableRule(identifiers, 1), set(identifiers)  # a list of one is a finger too
    counts: Counter[int] = Counter()
    for _ in range(lookups):
        key = rng.getrandbits(BITS)
        hops, _timeouts = rule.walk(rng.choice(identifiers), key, alive)
        counts[hops] += 1
    return counts


def expected(nodes: int, kind: str) -> float | None:
    """What the mean is held against: half log2 N - 0.138 where that holds, for fingers alone."""
    return half_log2(nodes) if kind == "fingers" else None


def table(measured: Sequence[Measured]) -> Table:
    """A row for each size and kind."""
    rows: list[list[int | float | str | None]] = []
    agrees = []
    for kind, published in (("fingers", PATH_FINGERS), ("lists", PATH_LISTS)):
        for nodes in sorted({int(one.parameters["nodes"]) for one in measured}):
            results = [
                one.result for one in measured if (one.parameters["nodes"], one.parameters["kind"]) == (nodes, kind)
            ]
            counts = total(result["counts"] for result in results)
            means = [each for result in results for each in result["means"]]
            middle, error = mean(counts), standard_error(means)
            wanted = expected(nodes, kind)
            edges = percentile(counts, 1), percentile(counts, 99)
            known = error if math.isfinite(error) else None
            rows.append(
                [nodes, kind, len(means), sum(counts.values()), middle, known, *edges, published[nodes], wanted]
            )
            if wanted is not None:
                agrees.append((f"{nodes} nodes: within {TOLERANCE} of {wanted:.3f}", abs(middle - wanted) <= TOLERANCE))
            elif kind == "fingers":
                differ = sum(result["differ"] for result in results)
                agrees.append((f"{nodes} nodes: as brute force on the same rings", differ == 0))
            agrees.append((f"{nodes} nodes, {kind}: standard error below {STANDARD_ERROR}", error < STANDARD_ERROR))
    columns = ["nodes", "kind", "rings", "lookups", "mean", "s.e.", "p1", "p99", "ref.", "law"]
    return Table(columns, rows, agrees, notes=NOTES)


def draw(axes: Axes, measured: Sequence[Measured]) -> None:
    """Means with bars from the 1st to the 99th percentile, half log2 N, and the reference."""
    told = table(measured)
    for kind in ("fingers", "lists"):
        bars(axes, *series(told, "nodes", "mean", "p1", "p99", kind=kind), label=f"simulated, {kind}")
    sizes = sorted(PATH_FINGERS)
    axes.plot(sizes, [PATH_FINGERS[size] for size in sizes], "x", label="reference, fingers")
    axes.plot(sizes, [PATH_LISTS[size] for size in sizes], "+", label="reference, lists")
    axes.plot(sizes, [math.log2(size) / 2 for size in sizes], "--", label="half log2 N")
    axes.set_xscale("log", base=2)
    axes.set_xlabel("nodes")
    axes.set_ylabel("hops to the key's predecessor")
    axes.legend()


FIGURE = Figure(
    "path-length",
    "Path length against the number of nodes",
    "Stoica et al., SIGCOMM 2001, figure 10",
    cells,
    measure,
    table,
    draw,
)
