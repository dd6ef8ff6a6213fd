"""A snapshot as a networkx graph: a directed edge from each member to everybody that it passes lookups on to."""

from __future__ import annotations

from pathlib import Path

import networkx as nx

from experiments.overlay.routing import Router
from experiments.overlay.snapshot import Snapshot
from experiments.overlay.underlay import Delays

KINDS = {(True, True): "both", (True, False): "successor", (False, True): "finger"}


def graph_of(snapshot: Snapshot, delays: Delays | None = None) -> nx.DiGraph:
    """Nodes are identifiers in hexadecimal, with `address` and the `arc` of all keys that they own (a share of 1).

    Edges have a `kind` (successor, finger or both), the share of the ring that they reach over (`reach`) and, with an
    underlay, `round_trip_ms`. Pointers to members that are not in the snapshot are left out.
    """
    router = Router(snapshot)
    size = router.size
    graph = nx.DiGraph(source=snapshot.source, cluster=snapshot.cluster, bits=snapshot.bits, commit=snapshot.commit)
    for member, arc in zip(snapshot.members, router.arcs(), strict=True):
        graph.add_node(member.id, address=member.address, arc=arc / size)
    for member in snapshot.members:
        listed, fingers = set(member.successors), set(member.fingers)
        for other in member.known:
            if other not in snapshot.by_id or other == member.id:
                continue
            reach = (int(other, 16) - int(member.id, 16)) % size / size
            graph.add_edge(member.id, other, kind=KINDS[other in listed, other in fingers], reach=reach)
            if delays is not None:
                there = snapshot.by_id[other].address
                graph.edges[member.id, other]["round_trip_ms"] = 1e3 * delays.round_trip_s(member.address, there)
    return graph


def write_graphml(graph: nx.DiGraph, path: Path) -> None:
    """Write a file that Gephi, Cytoscape, igraph and networkx read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    nx.write_graphml_xml(graph, path)
