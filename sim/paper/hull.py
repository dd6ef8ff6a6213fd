"""Latency against bandwidth under churn for settings of our own, as Li et al. draw them: what do more bytes buy?

The members crash, and others join, with lifetimes that are exponentially distributed, on latencies with a long tail.
Each member looks a random key up once a minute, as `dht lookup` would through it, and tries again for five seconds.
Counted are all bytes of all frames, upkeep of records and probes for lost rings among them; no record is stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from chord.asking import Ring
from chord.errors import RingcastError
from chord.lookup import Walk
from sim.latency import king
from sim.paper.churning import Churning
from sim.paper.counts import as_json
from sim.paper.figure import Figure, Measured, Parameters, Result, Table, Value
from sim.paper.hull_points import lower_hull, points_of
from sim.paper.hull_settings import DEFAULT, tried, tried_by
from sim.paper.owners import Question
from sim.paper.series import legend_below
from sim.paper.traced import Traced

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LIVES_S = (3_600.0, 600.0)
NODES = 128
WARM_UP_S = 60.0
MEASURED_S = 480.0
LOOKUPS_PER_S = 1 / 60
PATIENCE_S = 5.0
CLOSE = 0.05
"""By so much of its mean a latency may differ for what counts as no difference."""

COLUMNS = (
    *("mean life s", "stabilize s", "successors", "fingers s", "vnodes"),
    *("bytes/node/s", "median ms", "mean ms", "p99 ms", "lookups", "right", "on the hull"),
)
SHOWN = tuple(column for column in COLUMNS if column not in ("median ms", "lookups"))
NOTES = (
    "bytes/node/s: of the frames that a node sends; mean, p99: latency of a lookup; right: share of the lookups",
    "on the hull: no mixture of other settings is faster for as many bytes",
)


def cells(quick: bool) -> list[Parameters]:
    """Each combination of settings once for each lifetime, all on the same latencies, comings and goings, and keys."""
    return [
        {
            "life_s": life_s,
            **asdict(one),
            "nodes": 24 if quick else NODES,
            "measured_s": 60.0 if quick else MEASURED_S,
            "seed": 1,
        }
        for one in tried(quick)
        for life_s in LIVES_S
    ]


def measure(parameters: Parameters, traced: Traced) -> Result:
    """The bytes that a node sends a second, how long lookups took that ended well, and how many did."""
    seed, nodes, one = int(parameters["seed"]), int(parameters["nodes"]), tried_by(parameters)
    per_s = nodes / float(parameters["life_s"])
    ring = Churning(seed, one.settings(), king(seed), nodes, per_s, True, one.vnodes, traced)
    ring.scheduler.run_for(WARM_UP_S)
    before, size_before = ring.network.bytes, len(ring.nodes)
    lookups = Timed(ring, nodes * LOOKUPS_PER_S)
    ring.scheduler.run_for(float(parameters["measured_s"]))
    lookups.end()
    spent, size = ring.network.bytes - before, (size_before + len(ring.nodes)) / 2
    ring.scheduler.run_for(WARM_UP_S)  # those under way end
    return {
        "bytes_a_node_and_second": spent / size / float(parameters["measured_s"]),
        "latencies_ms": as_json(lookups.latencies_ms),
        "ended": lookups.ended,
        "refused": len(ring.refused),
    }


class Timed:
    """Lookups by random members, a Poisson process of `per_s` a second until `end`; how long the right ones took."""

    def __init__(self, ring: Churning, per_s: float) -> None:
        self.latencies_ms: Counter[int] = Counter()
        self.ended = 0
        self._ring = ring
        self._rng = ring.rng("lookups")
        self._per_s = per_s
        self._asks_no_more = False
        self._later()

    def end(self) -> None:
        """Ask no more."""
        self._asks_no_more = True

    def _later(self) -> None:
        self._ring.scheduler.after(self._rng.expovariate(self._per_s), self._ask)

    def _ask(self) -> None:
        if self._asks_no_more:
            return
        node, name = self._ring.settled(self._rng), f"{self._rng.getrandbits(64):016x}"
        space, kernel = self._ring.settings.space, node.host.kernel
        question = self._ring.owners.ask(space.key(name))
        lookup = Ring(kernel, [kernel.address], space, PATIENCE_S).locate(name)
        node.process.start(lookup).when_done(partial(self._answered, question, self._ring.now))
        self._later()

    def _answered(self, question: Question, asked_at: float, walk: Walk | None, _error: RingcastError | None) -> None:
        self.ended += 1
        right, _ = self._ring.owners.answered(question, None if walk is None else walk.owner)
        if right:
            self.latencies_ms[round((self._ring.now - asked_at) * 1e3)] += 1


def table(measured: Sequence[Measured]) -> Table:
    """A row for each lifetime and combination, from the one that needs the fewest bytes on."""
    rows: list[list[Value | None]] = []
    agrees = []
    for life_s in sorted({float(one.parameters["life_s"]) for one in measured}, reverse=True):
        points = points_of(measured, life_s)
        on_it = lower_hull([(point.bytes_s, point.mean_ms) for point in points])
        rows += [[life_s, *point.cells(), "yes" if at in on_it else "no"] for at, point in enumerate(points)]
        default = next(point for point in points if point.tried == DEFAULT)
        best_ms = min(point.mean_ms for point in points)
        cheapest = next(point for point in points if point.mean_ms <= default.mean_ms * (1 + CLOSE))
        where = f"members live for {life_s:g} s"
        agrees.append((f"{where}: every lookup ends well with the defaults of dht join", default.right == 1.0))
        agrees.append(
            (
                f"{where}: nothing tried is faster by more than {CLOSE:.0%} than the defaults of dht join",
                default.mean_ms <= best_ms * (1 + CLOSE),
            )
        )
        agrees.append(
            (
                f"{where}: nothing tried is as fast, within {CLOSE:.0%}, for fewer bytes than the defaults of dht join"
                f" ({default.bytes_s:.0f}/node/s; {cheapest.tried}: {cheapest.bytes_s:.0f})",
                cheapest is default,
            )
        )
    return Table(COLUMNS, rows, agrees, SHOWN, notes=NOTES)


def draw(axes: Axes, measured: Sequence[Measured]) -> None:
    """Mean latencies against bytes, the hull of each lifetime, and a star where the defaults lie."""
    for life_s, colour in zip(LIVES_S, ("C0", "C3"), strict=True):
        points = points_of(measured, life_s)
        places = [(point.bytes_s, point.mean_ms) for point in points]
        hull = lower_hull(places)
        axes.plot(*zip(*places, strict=True), ".", color=colour, alpha=0.5, label=f"simulated, mean life {life_s:g} s")
        axes.plot(*zip(*(places[at] for at in hull), strict=True), "o-", color=colour, label="lower convex hull")
        for at in hull:
            axes.annotate(f"{points[at].tried}", places[at], xytext=(4, -10), textcoords="offset points", fontsize=7)
        default = next(place for place, point in zip(places, points, strict=True) if point.tried == DEFAULT)
        axes.plot(*default, "*", color=colour, markersize=15, label=f"dht join: {DEFAULT}")
    axes.set_xscale("log")
    axes.margins(x=0.12, y=0.1)  # what stands beside the outermost points stays within the frame
    axes.set_xlabel("bytes of frames that a node sends a second (simulated)")
    axes.set_ylabel("mean latency of a lookup, ms (simulated)")
    legend_below(
        axes,
        fontsize="small",
        ncols=2,
        title="stabilize s / successors / fingers s / virtual nodes",
        title_fontsize="small",
    )


FIGURE = Figure(
    "hull",
    "Latency of lookups against bandwidth under churn, by settings",
    "settings of our own, in the form of Li et al., IPTPS 2004, which has no figures of them",
    cells,
    measure,
    table,
    draw,
)
