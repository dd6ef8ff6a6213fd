"""Latency of iterative and recursive lookups over that of the direct way, on underlays (ToN 2003, table IV).

Ring processes look random keys up, one after the other, by production code over the simulated network, with nothing
else going on. The direct way is a ping from the asker to the owner. A lookup ends when the owner has answered. Of an
iterative one it is also told when the key's predecessor has, which is as far as the paper's path goes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from chord.effects import Operation, call
from chord.errors import LookupFailed
from chord.lookup import Walk, find_owner
from chord.messages import Ping, Pong
from chord.recursion import find_owner_recursively
from chord.settings import Settings
from sim.cluster import Cluster, Node
from sim.ideal import start_ideal
from sim.latency import Model, latency_of
from sim.network import Link
from sim.paper.counts import as_json, mean, percentile, total
from sim.paper.figure import Figure, Measured, Parameters, Result, Table
from sim.paper.published import STRETCH, STRETCH_NODES, TO_BE_CHECKED
from sim.paper.series import bars, series
from sim.paper.traced import Traced

if TYPE_CHECKING:
    from matplotlib.axes import Axes

R = TypeVar("R")

POWERS = (16, 14, 12, 10)
UNDERLAYS = {"transit-stub": "transit-stub", "waxman": "space"}
"""Ours, and which of the paper's it stands for: routers on a plane for nodes in space of three dimensions."""

WAYS = ("iterative", "to predecessor", "recursive")
ASKERS, LOOKUPS, WARM = 40, 25, 5
"""Each asker's first lookups are not counted: until they are answered it does not know how long to wait."""

TICKS = (1, 2, 3, 5, 10, 20, 50, 100)
LOST_SHARE = 0.02
"""Recursive lookups given up, which the table leaves out: mean and four deviations are too early for the slowest."""

NEAR = 0.2
"""How far from the published medians ours may lie: the underlays are not the same."""

PUBLISHED = tuple(f"published {name} ({TO_BE_CHECKED})" for name in ("stretch", "p10", "p90"))
SHOWN = ("underlay", "nodes", "way", "stretch", "p10", "p90", *PUBLISHED)
NOTES = (
    "stretch, p10, p90: latency of a lookup over that of the direct way: median, 10th and 90th percentile",
    "to predecessor: the iterative one, until the key's predecessor has answered",
)


def cells(quick: bool) -> list[Parameters]:
    """One ring for each size and underlay, the largest first."""
    return [
        {"nodes": 1 << power, "underlay": underlay, "askers": ASKERS, "lookups": LOOKUPS, "seed": 1}
        for power in ((10,) if quick else POWERS)
        for underlay in UNDERLAYS
    ]


def measure(parameters: Parameters, traced: Traced) -> Result:
    """Of each way the latencies in microseconds, and the stretch in thousandths; how many hops; what was lost."""
    seed = int(parameters["seed"])
    link = Link(latency_of(Model(str(parameters["underlay"])), seed))
    cluster = Cluster(seed, Settings(cluster=f"ring-{seed}", failures=0, replicas=1), link)
    nodes = start_ideal(cluster, int(parameters["nodes"]), upkeep=False)
    asking = _Asking(cluster, traced)
    for node in cluster.rng("askers").sample(nodes, int(parameters["askers"])):
        for number in range(int(parameters["lookups"])):
            asking.ask(node, counts=number >= WARM)
    return asking.result()


class _Asking:
    """The same key is looked up both ways."""

    def __init__(self, cluster: Cluster, traced: Traced) -> None:
        self._cluster = cluster
        self._traced = traced
        self._rng = cluster.rng("keys")
        self._counts: dict[str, Counter[int]] = {name: Counter() for name in ("direct", "hops")}
        self._counts |= {f"{kind} {way}": Counter() for way in WAYS for kind in ("latency", "stretch")}
        self._lost = self._timeouts = 0

    def ask(self, node: Node, counts: bool) -> None:
        """Have a process look a random key up, and ping its owner; nothing is counted of a key of its own."""
        host = node.host
        kernel, me = host.kernel, host.members[0].me
        walk = Walk(self._rng.getrandbits(host.settings.space.bits))
        again = Walk(walk.key)
        owner = self._run(node, find_owner(kernel, host.settings.space, [me], walk))
        if owner == me:
            return
        lost: LookupFailed | None = None
        try:
            self._run(node, find_owner_recursively(kernel, [me], me.address, again))
        except LookupFailed as error:
            lost = error
        if counts:
            self._traced.walked(host, walk)
            self._traced.walked(host, again, lost, "recursive")
        if lost is not None:
            self._lost += counts
            return
        began_at = self._cluster.now
        self._run(node, call(owner, Ping(), Pong))
        if counts:
            iterative, to_predecessor = walk.ended_at - walk.started_at, walk.named_at - walk.started_at
            taken = [iterative, to_predecessor, again.ended_at - again.started_at]
            self._count(walk, self._cluster.now - began_at, taken)

    def _run(self, node: Node, operation: Operation[R]) -> R:
        outcome = node.process.start(operation)
        self._cluster.scheduler.run_until(lambda: outcome.done, 60.0)
        return outcome.value()

    def _count(self, walk: Walk, direct_s: float, taken_s: list[float]) -> None:
        self._timeouts += walk.timeouts
        self._counts["hops"][walk.hops] += 1
        self._counts["direct"][round(direct_s * 1e6)] += 1
        for way, latency_s in zip(WAYS, taken_s, strict=True):
            self._counts[f"latency {way}"][round(latency_s * 1e6)] += 1
            self._counts[f"stretch {way}"][round(latency_s / direct_s * 1e3)] += 1

    def result(self) -> Result:
        """As JSON."""
        counts = {name: as_json(found) for name, found in self._counts.items()}
        return {"lost": self._lost, "timeouts": self._timeouts, **counts}


def table(measured: Sequence[Measured]) -> Table:
    """A row for each underlay, size and way."""
    rows: list[list[int | float | str | None]] = []
    agrees = []
    for one in sorted(measured, key=lambda one: (str(one.parameters["underlay"]), int(one.parameters["nodes"]))):
        nodes, underlay = int(one.parameters["nodes"]), str(one.parameters["underlay"])
        counts = {name: total([found]) for name, found in one.result.items() if isinstance(found, dict)}
        asked = sum(counts["hops"].values())
        for way in WAYS:
            stretch, latency = counts[f"stretch {way}"], counts[f"latency {way}"]
            median = percentile(stretch, 50) / 1e3
            row: list[int | float | str | None] = [
                underlay,
                nodes,
                way,
                asked,
                one.result["lost"],
                mean(counts["hops"]),
            ]
            row += [median, *(percentile(stretch, percent) / 1e3 for percent in (10, 90)), mean(stretch) / 1e3]
            row += [percentile(latency, 50) / 1e3, percentile(counts["direct"], 50) / 1e3]
            row += [mean(latency) / 1e3, mean(counts["direct"]) / 1e3]
            published = STRETCH.get((way, UNDERLAYS[underlay])) if nodes == STRETCH_NODES else None
            rows.append([*row, *(published or (None, None, None))])
            if published:
                near = abs(median / published[0] - 1) <= NEAR
                agrees.append((f"{way} on {underlay}: median within {NEAR:.0%} of the published {published[0]}", near))
        lost = one.result["lost"]
        agrees.append((f"{underlay}, {nodes} nodes: no time-outs of iterative lookups", one.result["timeouts"] == 0))
        few = lost <= LOST_SHARE * (asked + lost)
        agrees.append((f"{underlay}, {nodes} nodes: at most {LOST_SHARE:.0%} of recursive lookups given up", few))
    columns = ["underlay", "nodes", "way", "lookups", "given up", "hops", "stretch", "p10", "p90", "mean stretch"]
    columns += ["latency ms", "direct ms", "mean latency ms", "mean direct ms"]
    columns += PUBLISHED
    return Table(columns, rows, agrees, SHOWN, notes=NOTES)


def draw(axes: Axes, measured: Sequence[Measured]) -> None:
    """Median stretch against the number of nodes, with bars from the 10th to the 90th percentile."""
    told = table(measured)
    for place, (underlay, theirs) in enumerate(UNDERLAYS.items()):
        for turn, (way, mark) in enumerate((("iterative", "o"), ("recursive", "s"))):
            colour = f"C{2 * place + turn}"
            sizes, middle, low, high = series(told, "nodes", "stretch", "p10", "p90", underlay=underlay, way=way)
            aside = [size * (1 + 0.06 * (2 * place + turn - 1.5)) for size in sizes]
            bars(axes, aside, middle, low, high, fmt=f"{mark}-", color=colour, label=f"ours, {way}, {underlay}")
            known = series(told, "nodes", PUBLISHED[0], underlay=underlay, way=way)
            axes.plot(*known, "x", color=colour, markersize=10, label=f"published ({TO_BE_CHECKED}), {way}, {theirs}")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_yticks(TICKS, [str(tick) for tick in TICKS])
    axes.minorticks_off()
    axes.set_xlabel("nodes")
    axes.set_ylabel("latency of a lookup over that of the direct way\n(median; 10th to 90th percentile)")
    axes.legend(fontsize="small", loc="upper left", ncols=2)


FIGURE = Figure(
    "stretch",
    "Iterative and recursive lookups over the direct way",
    "Stoica et al., ToN 2003, table IV",
    cells,
    measure,
    table,
    draw,
)
