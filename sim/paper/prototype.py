"""Latency of iterative lookups on ten hosts that are far apart (SIGCOMM 2001, figure 13), on simulated ones.

The paper ran its prototype on ten hosts of the RON test-bed in the United States, with round trips of about 60 ms
between them. What is known of those is no more than that, so the pairs of sites here have the quantiles of a log-normal
distribution about that median, in random order: most are near it, and some much longer. That differs from the real
ones: sites have no place on a map, so detours may be shorter and no site is far from all others (as those behind a
modem were); a frame is late by a tenth on average, none is lost, and a process takes no time to answer. Nor does
anything else go on: the rings are ideal, and nobody stabilizes.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from math import exp
from statistics import NormalDist
from typing import TYPE_CHECKING

from chord.lookup import Walk, find_owner
from chord.settings import Settings
from sim.cluster import Cluster, Node
from sim.ideal import start_ideal
from sim.network import Latency, Link
from sim.paper.counts import as_json, mean, percentile, total
from sim.paper.figure import Figure, Measured, Parameters, Result, Table
from sim.paper.published import PROTOTYPE_EXPECTED_MS, PROTOTYPE_MS
from sim.paper.series import bars, legend_below, series
from sim.paper.traced import Traced

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SITES = 10
MEDIAN_S, SIGMA = 0.060, 0.56
"""Round trips between two sites; sigma is that of sim/latency.py."""

WITHIN_S = 0.0005
"""Round trip within a site."""

LATE = 0.1
SIZES = (180, 150, 120, 90, 60, 40, 20, 10)
LISTS = (1, 8)
"""Entries of the successor lists: a successor beside the fingers, as the paper counts its path; and as `dht join`."""

LOOKUPS = 16
"""Of each site, one after the other, as in the paper."""

TEST_BEDS = 20
NEAR = 0.15
"""How far from the published medians ours may lie."""

PUBLISHED = ("published median ms", "published expectation ms")
SHOWN = ("list", "nodes", "lookups", "hops", "median ms", *PUBLISHED, "p5 ms", "p95 ms")
NOTES = (
    "list: entries of a successor list; median, p5, p95: latency of a lookup",
    "published expectation: what five round trips of 60 ms take",
)


def cells(quick: bool) -> list[Parameters]:
    """Some test-beds for each number of nodes and length of the lists."""
    return [
        {"nodes": nodes, "successors": successors, "beds": 2 if quick else TEST_BEDS, "seed": 1}
        for nodes in SIZES
        for successors in LISTS
    ]


def sites(addresses: Sequence[str], seed: int) -> Latency:
    """Processes dealt out to ten sites, and how long a frame takes from one to another."""
    rng = random.Random(f"{seed}/sites")
    pairs = list(combinations(range(SITES), 2))
    rng.shuffle(pairs)
    normal = NormalDist()
    one_way_s = {(site, site): WITHIN_S / 2 for site in range(SITES)}
    for rank, (one, other) in enumerate(pairs):
        round_trip_s = MEDIAN_S * exp(SIGMA * normal.inv_cdf((rank + 0.5) / len(pairs)))
        one_way_s[one, other] = one_way_s[other, one] = round_trip_s / 2
    site_of = {address: number % SITES for number, address in enumerate(addresses)}

    def latency(rng: random.Random, source: str, target: str) -> float:
        return one_way_s[site_of[source], site_of[target]] * (1.0 + rng.expovariate(1 / LATE))

    return latency


def measure(parameters: Parameters, traced: Traced) -> Result:
    """Latencies in microseconds, hops and time-outs of lookups of random keys by processes at every site."""
    latencies: Counter[int] = Counter()
    hops: Counter[int] = Counter()
    timeouts = 0
    for bed in range(int(parameters["beds"])):
        seed = int(parameters["seed"]) * 1_000 + bed
        settings = Settings(cluster=f"ring-{seed}", successors=int(parameters["successors"]), failures=0, replicas=1)
        cluster = Cluster(seed, settings)
        nodes = start_ideal(cluster, int(parameters["nodes"]), upkeep=False)
        cluster.network.default = Link(sites(list(cluster.nodes), seed))
        rng = cluster.rng("lookups")
        for number in range(SITES * LOOKUPS):
            walk = Walk(rng.getrandbits(settings.space.bits))
            node = rng.choice(nodes[number % SITES :: SITES])
            _look_up(cluster, node, walk)
            traced.walked(node.host, walk)
            latencies[round((walk.ended_at - walk.started_at) * 1e6)] += 1
            hops[walk.hops] += 1
            timeouts += walk.timeouts
    return {"timeouts": timeouts, "latencies": as_json(latencies), "hops": as_json(hops)}


def _look_up(cluster: Cluster, node: Node, walk: Walk) -> None:
    host = node.host
    outcome = node.process.start(find_owner(host.kernel, host.settings.space, [host.members[0].me], walk))
    cluster.scheduler.run_until(lambda: outcome.done, 60.0)
    outcome.value()


def table(measured: Sequence[Measured]) -> Table:
    """A row for each number of nodes and length of the lists; exchanges are those with others."""
    rows: list[list[int | float | str | None]] = []
    agrees = []
    medians: dict[int, list[float]] = {}
    for one in sorted(measured, key=lambda one: (int(one.parameters["successors"]), int(one.parameters["nodes"]))):
        nodes, successors = int(one.parameters["nodes"]), int(one.parameters["successors"])
        latencies, hops = total([one.result["latencies"]]), total([one.result["hops"]])
        low, median, high = (percentile(latencies, percent) / 1e3 for percent in (5, 50, 95))
        medians.setdefault(successors, []).append(median)
        published = PROTOTYPE_MS.get(nodes)
        expected = PROTOTYPE_EXPECTED_MS.get(nodes)
        row: list[int | float | str | None] = [successors, nodes, sum(hops.values()), mean(hops)]
        rows.append([*row, one.result["timeouts"], median, low, high, mean(latencies) / 1e3, published, expected])
        if published is not None and successors == 1:
            near = abs(median / published - 1) <= NEAR
            agrees.append((f"{nodes} nodes: median within {NEAR:.0%} of the published {published} ms", near))
    for length, found in medians.items():
        agrees.append((f"lists of {length}: more nodes take longer", found[0] < found[-1]))
    columns = ["list", "nodes", "lookups", "hops", "time-outs", "median ms", "p5 ms", "p95 ms", "mean ms"]
    return Table([*columns, *PUBLISHED], rows, agrees, SHOWN, notes=NOTES)


def draw(axes: Axes, measured: Sequence[Measured]) -> None:
    """Medians with bars from the 5th to the 95th percentile."""
    told = table(measured)
    for turn, successors in enumerate(LISTS):
        sizes, middle, low, high = series(told, "nodes", "median ms", "p5 ms", "p95 ms", list=successors)
        aside = [size + 2 * turn for size in sizes]
        bars(axes, aside, middle, low, high, label=f"ours, successor lists of {successors}")
    axes.plot(*series(told, "nodes", "published median ms", list=1), "xr", markersize=10, label="published, median")
    expectation = series(told, "nodes", "published expectation ms", list=1)
    axes.plot(*expectation, "+r", markersize=10, label="published, five round trips of 60 ms")
    axes.set_xlabel("nodes on ten sites")
    axes.set_ylabel("latency of a lookup, ms\n(median; 5th to 95th percentile)")
    axes.set_ylim(bottom=0)
    legend_below(axes, fontsize="small", ncols=2)


FIGURE = Figure(
    "prototype",
    "Latency of iterative lookups on ten hosts far apart",
    "Stoica et al., SIGCOMM 2001, figure 13",
    cells,
    measure,
    table,
    draw,
)
