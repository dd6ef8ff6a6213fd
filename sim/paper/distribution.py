"""The distribution of path lengths in rings of 2^12 nodes (SIGCOMM 2001, figure 10b), fingers alone."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import TYPE_CHECKING

from sim.paper.counts import mean, total
from sim.paper.figure import Figure, Measured, Parameters, Table
from sim.paper.path_length import measure
from sim.paper.published import half_log2

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POWER = 12
NOTES = (
    "share: of the lookups, which took so many hops to the key's predecessor",
    "binomial: share of the distances with so many bits that are one, each of which takes a finger",
)
TOLERANCE = 0.02


def cells(quick: bool) -> list[Parameters]:
    """Rings of other seeds than those of `path-length`."""
    power, parts, rings, lookups = (10, 1, 2, 2_000) if quick else (POWER, 4, 4, 15_000)
    kind = "fingers"
    return [
        {"nodes": 1 << power, "kind": kind, "rings": rings, "lookups": lookups, "seed": 100 + part}
        for part in range(parts)
    ]


def _shares(measured: Sequence[Measured]) -> dict[int, float]:
    counts = total(one.result["counts"] for one in measured)
    lookups = sum(counts.values())
    return {hops: number / lookups for hops, number in counts.items()}


def _of_ones(measured: Sequence[Measured]) -> dict[int, float]:
    """How many bits of a distance are ones: each takes one finger, as the paper argues for half log2 N."""
    bits = int(measured[0].parameters["nodes"]).bit_length() - 1
    return {ones: comb(bits, ones) / 2**bits for ones in range(bits + 1)}


def table(measured: Sequence[Measured]) -> Table:
    """A row for each path length. The paper draws the curve and prints no numbers."""
    shares, ones = _shares(measured), _of_ones(measured)
    rows = [[hops, shares.get(hops, 0.0), ones.get(hops, 0.0)] for hops in range(max([*shares, *ones]) + 1)]
    middle = mean(total(one.result["counts"] for one in measured))
    expected = half_log2(int(measured[0].parameters["nodes"]))
    agrees = [(f"mean within {TOLERANCE} of {expected:.3f}", abs(middle - expected) <= TOLERANCE)] if expected else []
    return Table(["hops", "share", "binomial"], rows, agrees, notes=NOTES)


def draw(axes: Axes, measured: Sequence[Measured]) -> None:
    """Bars of ours, and the binomial law as a line."""
    shares, ones = _shares(measured), _of_ones(measured)
    axes.bar(list(shares), list(shares.values()), label=f"simulated, {measured[0].parameters['nodes']} nodes")
    axes.plot(list(ones), list(ones.values()), "x--", color="black", label="ones among the bits of a distance")
    axes.set_xlabel("hops to the key's predecessor")
    axes.set_ylabel("share of lookups")
    axes.legend()


FIGURE = Figure(
    "path-distribution",
    "The distribution of path lengths",
    "Stoica et al., SIGCOMM 2001, figure 10b",
    cells,
    measure,
    table,
    draw,
)
