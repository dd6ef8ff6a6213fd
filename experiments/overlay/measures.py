"""The measures of an overlay, and what each is good for."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import msgspec
import networkx as nx
import numpy as np
from numpy.typing import NDArray

from experiments.overlay import paths
from experiments.overlay.graph import graph_of
from experiments.overlay.ideal import faults
from experiments.overlay.routing import Router
from experiments.overlay.snapshot import Snapshot
from experiments.overlay.told import Told
from experiments.ranks import mean, percentile

PIVOTS = 128
"""Members from which betweenness is reckoned in a ring of more than EXACT_UP_TO."""

SPECTRA_UP_TO = 2048
"""Members of a ring whose eigenvalues are found: dense matrices of twice as many take eight times as long."""


class Spread(msgspec.Struct, kw_only=True):
    """How something is spread over the members; `variation` is standard deviation over mean."""

    mean: float
    least: float
    most: float
    variation: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Of one value for each member."""
        mean = math.fsum(values) / len(values)
        deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
        return cls(mean=mean, least=min(values), most=max(values), variation=deviation / mean if mean else 0.0)


class Lengths(msgspec.Struct, kw_only=True):
    """Shares of lookups by hops, and what is told of them. `most` is what the longest takes."""

    mean: float
    p50: int
    p99: int
    most: int
    distribution: dict[int, float]

    @classmethod
    def of(cls, shares: dict[int, float]) -> Lengths:
        """Of what was counted."""
        return cls(
            mean=mean(shares),
            p50=percentile(shares, 0.5),
            p99=percentile(shares, 0.99),
            most=max(shares),
            distribution=shares,
        )


class Metrics(msgspec.Struct, kw_only=True):
    """All measures of a snapshot. `exact`: whether every way was counted, or those to `keys` sampled keys.

    `shortest`: the fewest forwards to anybody who names the owner, but for the `unreachable` share of lookups, which no
    way leads to; `misled` is the share that ends with a wrong owner. `passed`: the share of lookups that pass through a
    member, at its head and end included. `diameter` is None when some member cannot reach some other. `betweenness` is
    over its mean, reckoned from `betweenness_pivots` members. `algebraic_connectivity` and `spectral_gap` are None for
    rings that are too large, or of one member.
    """

    source: str
    members: int
    processes: int
    pointers: int
    faults: int
    strongly_connected: bool
    components: int
    diameter: int | None
    exact: bool
    keys: int
    half_log2_n: float
    greedy: Lengths
    shortest: Lengths
    unreachable: float
    misled: float
    out_degree: Spread
    in_degree: Spread
    in_degrees: dict[int, int]
    in_degree_by_arc: float | None
    arc: Spread
    passed: Spread
    passed_by_member: dict[str, float]
    betweenness: Spread
    betweenness_pivots: int
    algebraic_connectivity: float | None
    spectral_gap: float | None


def measure(snapshot: Snapshot, seed: int = 1, told: Told = lambda *_: None) -> Metrics:
    """Measure a snapshot. Raises BadSnapshot when its tables lead some lookup round in a circle."""
    router = Router(snapshot)
    graph = graph_of(snapshot)
    size = len(graph)
    ways = paths.count(router, seed, told)
    told("measuring the graph", 0, 3)
    strongly = nx.is_strongly_connected(graph)
    in_degrees = [degree for _, degree in graph.in_degree()]
    arcs = [arc / router.size for arc in router.arcs()]
    diameter = _diameter(graph) if strongly else None
    told("measuring the graph", 1, 3)
    pivots = size if size <= paths.EXACT_UP_TO else PIVOTS
    between = nx.betweenness_centrality(graph, k=None if pivots == size else pivots, seed=seed)
    told("measuring the graph", 2, 3)
    connectivity, gap = spectrum(graph) if 2 <= size <= SPECTRA_UP_TO else (None, None)
    return Metrics(
        source=snapshot.source,
        members=size,
        processes=len(snapshot.addresses),
        pointers=graph.number_of_edges(),
        faults=len(faults(snapshot)),
        strongly_connected=strongly,
        components=nx.number_strongly_connected_components(graph),
        diameter=diameter,
        exact=ways.exact,
        keys=ways.keys,
        half_log2_n=math.log2(size) / 2,
        greedy=Lengths.of(ways.greedy),
        shortest=Lengths.of(ways.shortest),
        unreachable=ways.unreachable,
        misled=ways.misled,
        out_degree=Spread.of([degree for _, degree in graph.out_degree()]),
        in_degree=Spread.of(in_degrees),
        in_degrees=dict(sorted(Counter(in_degrees).items())),
        in_degree_by_arc=correlation(arcs, in_degrees),
        arc=Spread.of(arcs),
        passed=Spread.of(ways.passed),
        passed_by_member=dict(zip(graph, ways.passed, strict=True)),
        betweenness=_relative(list(between.values())),
        betweenness_pivots=pivots,
        algebraic_connectivity=connectivity,
        spectral_gap=gap,
    )


def _diameter(graph: nx.DiGraph) -> int:
    """The most hops on any shortest way between two members; of a strongly connected graph."""
    return max(int(max(nx.single_source_shortest_path_length(graph, node).values())) for node in graph)


def _relative(values: list[float]) -> Spread:
    """Over their mean, if that is not 0, as it is where everybody knows everybody."""
    mean = math.fsum(values) / len(values)
    return Spread.of([value / mean for value in values] if mean else [0.0] * len(values))


def correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Pearson's coefficient; None when one of them does not vary."""
    if len(one) < 2 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return None
    return float(np.corrcoef(one, other)[0, 1])


def spectrum(graph: nx.DiGraph) -> tuple[float, float]:
    """Algebraic connectivity (Fiedler 1973) and spectral gap of the graph without directions.

    The second smallest eigenvalue of the Laplacian, and that of the normalised one: 1 minus the second largest
    eigenvalue of a random walk.
    """
    adjacency = nx.to_numpy_array(graph.to_undirected(), weight=None)
    degrees = adjacency.sum(axis=1)
    laplacian = np.diag(degrees) - adjacency
    scale = 1 / np.sqrt(np.maximum(degrees, 1e-300))
    normalised = laplacian * scale[:, None] * scale[None, :]
    return _second(laplacian), _second(normalised)


def _second(matrix: NDArray[np.float64]) -> float:
    return max(0.0, float(np.linalg.eigvalsh(matrix)[1]))
