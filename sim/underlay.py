"""Latencies as distances on a graph of routers, to which hosts are attached at random: an underlay.

Each function makes one kind of graph from a seed with networkx's generators. Its nodes are numbers, each link has a
`latency_s`, and the routers that hosts may be attached to have `hosts=True`.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from itertools import combinations

import mmh3
import networkx as nx

from sim.latency import HERE_S, JITTER, Model

ROUTERS = 400
"""Of a Waxman or a random geometric graph."""

ACROSS_S = 0.100
"""One way along the diagonal of the plane that they lie in."""

RADIUS = 0.08
WAXMAN_BETA, WAXMAN_ALPHA = 0.4, 0.08
"""Eight links a router, more or less."""

DOMAINS = 4
TRANSIT = 4
STUBS = 3
STUB = 8
"""Transit domains, their routers, the stub domains at each of those, and the routers of a stub domain: 400 in all."""

BETWEEN_TRANSIT_S, TO_STUB_S, WITHIN_STUB_S = 0.020, 0.010, 0.001
ACCESS_S = 0.0005
"""From a host to its router."""


class Underlay:
    """Shortest paths between the routers of two hosts, found once for each router, when its hosts first send."""

    def __init__(self, graph: nx.Graph, seed: int) -> None:
        self.graph = graph
        self._seed = seed
        self._places = sorted(router for router, hosts in graph.nodes(data="hosts") if hosts)
        self._router_of: dict[str, int] = {}
        self._distances: dict[int, dict[int, float]] = {}

    def __call__(self, rng: random.Random, source: str, target: str) -> float:
        """Seconds that one frame takes; the path is that of its pair, and a little jitter its own."""
        return self.latency_s(source, target) * (1.0 + JITTER * rng.random())

    def latency_s(self, source: str, target: str) -> float:
        """The latency of a pair of hosts, without jitter; the same in both directions."""
        if source == target:
            return HERE_S
        low, high = sorted((self.router(source), self.router(target)))
        distances = self._distances.get(low)
        if distances is None:
            distances = nx.single_source_dijkstra_path_length(self.graph, low, weight="latency_s")
            self._distances[low] = distances
        return distances[high] + 2 * ACCESS_S

    def router(self, address: str) -> int:
        """The router that a host is attached to, by its address and the seed alone."""
        router = self._router_of.get(address)
        if router is None:
            drawn = mmh3.mmh3_x64_128_uintdigest(f"{self._seed}/{address}".encode(), 0)
            router = self._router_of[address] = self._places[drawn % len(self._places)]
        return router


def transit_stub(seed: int) -> nx.Graph:
    """A few transit domains, all connected with each other, and stub domains that hang on their routers.

    Zegura, Calvert and Bhattacharjee 1996. Links between transit routers take 20 ms, those into stub domains 10 ms, and
    those inside them 1 ms.
    """
    rng = random.Random(f"{seed}/transit-stub")
    graph = nx.Graph()
    transit = [_domain(graph, rng, TRANSIT, 2, BETWEEN_TRANSIT_S, hosts=False) for _ in range(DOMAINS)]
    for one, other in combinations(transit, 2):
        graph.add_edge(rng.choice(one), rng.choice(other), latency_s=BETWEEN_TRANSIT_S)
    for router in [router for domain in transit for router in domain]:
        for _ in range(STUBS):
            stub = _domain(graph, rng, STUB, 4, WITHIN_STUB_S, hosts=True)
            graph.add_edge(router, rng.choice(stub), latency_s=TO_STUB_S)
    return graph


def _domain(graph: nx.Graph, rng: random.Random, size: int, links: int, latency_s: float, hosts: bool) -> list[int]:
    """Add a connected domain of so many routers, with so many links each on average; their numbers."""
    domain = nx.connected_watts_strogatz_graph(size, links, 0.5, seed=rng.getrandbits(32))
    first = len(graph)
    graph.add_nodes_from((first + router for router in range(size)), hosts=hosts)
    graph.add_edges_from(((first + one, first + other) for one, other in domain.edges), latency_s=latency_s)
    return list(range(first, first + size))


def waxman(seed: int) -> nx.Graph:
    """Routers at random on a plane, linked with a probability that falls with their distance (Waxman 1988)."""
    return _on_a_plane(nx.waxman_graph(ROUTERS, beta=WAXMAN_BETA, alpha=WAXMAN_ALPHA, seed=seed & 2**32 - 1))


def geometric(seed: int) -> nx.Graph:
    """Routers at random on a plane, linked when they are near each other."""
    return _on_a_plane(nx.random_geometric_graph(ROUTERS, RADIUS, seed=seed & 2**32 - 1))


def _on_a_plane(graph: nx.Graph) -> nx.Graph:
    """Latencies from the distances of a graph with positions in the unit square. Hosts are where most routers hang
    together.
    """
    position = graph.nodes(data="pos")
    for one, other in graph.edges:
        graph.edges[one, other]["latency_s"] = ACROSS_S * math.dist(position[one], position[other]) / math.sqrt(2)
    largest = max(nx.connected_components(graph), key=len)
    nx.set_node_attributes(graph, {router: router in largest for router in graph}, "hosts")
    return graph


GRAPHS: dict[Model, Callable[[int], nx.Graph]] = {
    Model.transit_stub: transit_stub,
    Model.waxman: waxman,
    Model.geometric: geometric,
}
