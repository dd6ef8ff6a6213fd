"""Keys per node (SIGCOMM 2001, figures 8 and 9): against the number of keys, and against that of virtual nodes.

Identifiers and keys are those that ring processes and names really have. Percentiles are of the nodes of one ring, by
nearest rank; what is told of several rings is the mean of theirs.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import exp, lgamma
from typing import TYPE_CHECKING

from chord.amounts import counted
from chord.identifiers import IdentifierSpace
from sim.cluster import address_of
from sim.paper.counts import percentile, standard_error
from sim.paper.figure import Figure, Measured, Parameters, Result, Table
from sim.paper.published import (
    LOAD_1ST,
    LOAD_1ST_REFERENCE,
    LOAD_99TH,
    LOAD_99TH_BY_KEYS,
    LOAD_99TH_BY_KEYS_REFERENCE,
    LOAD_99TH_REFERENCE,
    LOAD_MOST_BY_KEYS,
)
from sim.paper.series import legend_below, series
from sim.paper.traced import Traced

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NODES = 10_000
KEYS = 1_000_000
STEPS = 10
VIRTUAL_NODES = (1, 2, 5, 10, 20)
RINGS = 20
LOW, HIGH, FLAT = 4.6, 4.8, 1.65
"""The 99th percentile over the mean: with one virtual node between these, with twenty at most that."""

SHOWN = (
    *("keys", "virtual", "p1", "published p1", "p99", "published p99"),
    *("most", "published most"),
)
NOTES = (
    "virtual: virtual nodes of each node",
    "p1, p99, most: keys of a node over the mean, 1st and 99th percentile of the nodes, and of the fullest one",
)


def cells(quick: bool) -> list[Parameters]:
    """A cell is a ring, with ever more of its keys and then ever more virtual nodes."""
    return [{"nodes": NODES, "keys": KEYS, "seed": seed} for seed in range(2 if quick else RINGS)]


def measure(parameters: Parameters, _traced: Traced) -> Result:
    """Of each number of keys and of virtual nodes: keys per node in the mean, 1st and 99th percentile, most, none."""
    nodes, total, seed = (int(parameters[name]) for name in ("nodes", "keys", "seed"))
    space = IdentifierSpace()
    points = _points(space, nodes, 1, seed)
    keys: list[int] = []
    rows = []
    for step in range(STEPS):
        some = range(total * step // STEPS, total * (step + 1) // STEPS)
        keys += (space.key(f"{seed}/{number}") for number in some)
        keys.sort()
        rows.append([len(keys), 1, *_spread(_loads(keys, points, nodes))])
    for virtual in VIRTUAL_NODES[1:]:
        rows.append([total, virtual, *_spread(_loads(keys, _points(space, nodes, virtual, seed), nodes))])
    return {"rows": rows}


def _points(space: IdentifierSpace, nodes: int, virtual: int, seed: int) -> list[tuple[int, int]]:
    """The identifiers of a ring in order, each with the number of its node."""
    cluster = f"ring-{seed}"
    return sorted(
        (space.member(cluster, address_of(node), index), node) for node in range(nodes) for index in range(virtual)
    )


def _loads(keys: list[int], points: list[tuple[int, int]], nodes: int) -> list[int]:
    """How many of the sorted keys each node owns: those after the identifier before, up to its own."""
    loads = [0] * nodes
    before = 0
    for identifier, node in points:
        upto = bisect_right(keys, identifier, before)
        loads[node] += upto - before
        before = upto
    loads[points[0][1]] += len(keys) - before
    return loads


def _spread(loads: list[int]) -> list[float]:
    counts = Counter(loads)
    return [sum(loads) / len(loads), percentile(counts, 1), percentile(counts, 99), max(loads), counts[0]]


def expected(nodes: int, keys: int, virtual: int, percent: float) -> int:
    """The percentile of keys per node when identifiers and keys are random: then they are beta-binomial.

    The arcs of a node are a Beta(v, v (nodes - 1)) part of the circle, on which each key falls by itself.
    """
    ours, others = virtual, virtual * (nodes - 1)

    def chances() -> Iterator[float]:
        whole = lgamma(keys + 1) + lgamma(ours + others) - lgamma(ours) - lgamma(others) - lgamma(keys + ours + others)
        for load in range(keys + 1):
            rest = keys - load
            yield exp(whole + lgamma(load + ours) + lgamma(rest + others) - lgamma(load + 1) - lgamma(rest + 1))

    return next(load for load, chance in enumerate(accumulate(chances())) if chance >= percent / 100)


def table(measured: Sequence[Measured]) -> Table:
    """A row for each number of keys and of virtual nodes; all but the counts over the mean."""
    nodes = int(measured[0].parameters["nodes"])
    rows: list[list[int | float | str | None]] = []
    agrees = []
    for at, (keys, virtual, *_) in enumerate(measured[0].result["rows"]):
        rings = [one.result["rows"][at][2:] for one in measured]
        low, high, most = ([ring[place] / ring[0] for ring in rings] for place in (1, 2, 3))
        p1, p99 = sum(low) / len(rings), sum(high) / len(rings)
        empty = sum(ring[4] for ring in rings) / len(rings) / nodes
        theory = expected(nodes, keys, virtual, 99) / (keys / nodes)
        whole = keys == KEYS
        published = [LOAD_1ST[virtual], LOAD_99TH[virtual]] if whole else [None, LOAD_99TH_BY_KEYS.get(keys)]
        published.append(LOAD_MOST_BY_KEYS.get(keys))
        published += [LOAD_1ST_REFERENCE[virtual] if whole else None]
        published += [LOAD_99TH_REFERENCE[virtual] if whole else LOAD_99TH_BY_KEYS_REFERENCE.get(keys)]
        rows.append([keys, virtual, len(rings), keys / nodes, p1, p99, standard_error(high), sum(most) / len(rings)])
        rows[-1] += [empty, *published, theory]
        name = f"{keys} keys, {counted(virtual, 'virtual node')}"
        if virtual == 1:
            agrees.append((f"{name}: 99th percentile {LOW} to {HIGH} times the mean", LOW <= round(p99, 1) <= HIGH))
        if virtual == VIRTUAL_NODES[-1]:
            agrees.append((f"{name}: 99th percentile {FLAT} times the mean or less", round(p99, 2) <= FLAT))
        agrees.append((f"{name}: within 2 % of the {theory:.2f} of random identifiers", abs(p99 / theory - 1) <= 0.02))
    columns = ["keys", "virtual", "rings", "mean", "p1", "p99", "error", "most", "empty"]
    published_too = ["published p1", "published p99", "published most", "reference p1", "reference p99"]
    return Table([*columns, *published_too, "expected p99"], rows, agrees, SHOWN, notes=NOTES)


def draw(axes: Axes, measured: Sequence[Measured]) -> None:
    """Bars from the 1st to the 99th percentile over the mean, and the fullest node; the published points."""
    told = table(measured)
    places, keys, virtual, low, high, most = series(told, "row", "keys", "virtual", "p1", "p99", "most")
    axes.vlines(places, low, high, linewidth=3, label="ours, 1st to 99th percentile")
    axes.plot(places, most, "o", fillstyle="none", label="ours, fullest node")
    axes.axhline(1.0, color="k", linestyle=":", label="mean")
    for column, mark in (("p99", "x"), ("p1", "+"), ("most", "1")):
        axes.plot(*series(told, "row", f"published {column}"), f"{mark}r", markersize=9, label=f"published, {column}")
    axes.axvline(STEPS - 0.5, color="grey", linewidth=0.5)
    names = [f"{number / 1000:.0f}k" for number in keys[:STEPS]] + [f"{number:.0f}" for number in virtual[STEPS:]]
    axes.set_xticks(places, names, rotation=45)
    axes.set_xlabel(f"keys, one virtual node (figure 8)    |    virtual nodes, {keys[-1]:,} keys (figure 9)")
    axes.set_ylabel("keys per node, over the mean")
    legend_below(axes, fontsize="small", ncols=3)


FIGURE = Figure(
    "load",
    "Keys per node against keys and virtual nodes, 10,000 nodes",
    "Stoica et al., SIGCOMM 2001, figures 8 and 9",
    cells,
    measure,
    table,
    draw,
)
