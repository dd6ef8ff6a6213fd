"""The measures of rings that are small enough to know the answers by hand."""

from __future__ import annotations

import math

import networkx as nx
import pytest

from chord.identifiers import hexadecimal
from experiments.overlay import paths
from experiments.overlay.graph import graph_of, write_graphml
from experiments.overlay.ideal import faults, ideal_ring
from experiments.overlay.measures import Spread, correlation, measure, spectrum
from experiments.overlay.routing import Router
from experiments.overlay.snapshot import BadSnapshot, MemberView, Snapshot
from experiments.overlay.underlay import Delays
from experiments.ranks import mean
from sim.latency import Model

BITS = 4


def ring(known: dict[int, list[int]], fingers: dict[int, list[int]] | None = None) -> Snapshot:
    """Members by identifier in a space of 16, each with its successor list."""
    ids = sorted(known)
    return Snapshot(
        source="sim",
        cluster="c",
        bits=BITS,
        successors=len(known[ids[0]]),
        taken_us=0,
        commit="abc",
        members=[
            MemberView(
                id=hexadecimal(me),
                address=f"10.0.0.{me}:1",
                predecessor=hexadecimal(ids[at - 1]),
                successors=[hexadecimal(each) for each in known[me]],
                fingers=[hexadecimal(each) for each in (fingers or {}).get(me, [])],
            )
            for at, me in enumerate(ids)
        ],
    )


CIRCLE = ring({0: [4], 4: [8], 8: [12], 12: [0]})
"""Four members a quarter apart, which know their successors and nobody else."""

CHORD = ring({0: [4], 4: [8], 8: [12], 12: [0]}, {0: [4, 8], 4: [8, 12], 8: [12, 0], 12: [0, 4]})
"""The same with all fingers right."""


def test_a_circle_of_successors_is_walked_from_one_to_the_next():
    """A lookup of a key passes everybody up to the key's predecessor; the owner itself names itself at once."""
    ways = paths.count(Router(CIRCLE))

    assert ways.greedy == pytest.approx({0: 2 / 4, 1: 1 / 4, 2: 1 / 4})
    assert ways.shortest == ways.greedy
    assert mean(ways.greedy) == pytest.approx(0.75)


def test_fingers_save_hops():
    """With fingers half way round the ring nobody is further than one forward from who names the owner."""
    ways = paths.count(Router(CHORD))

    assert ways.greedy == pytest.approx({0: 2 / 4, 1: 2 / 4})


def test_ways_are_weighted_by_how_many_keys_an_owner_has():
    """One finger saves a hop on the way to the keys of member 8, which are a quarter of all, and on no other."""
    uneven = ring({0: [2], 2: [4], 4: [8], 8: [0]}, {0: [4]})

    assert Router(uneven).arcs() == [8, 2, 2, 4]
    assert paths.count(Router(uneven)).greedy == pytest.approx({0: 32 / 64, 1: 20 / 64, 2: 12 / 64})


def test_a_circle_has_the_measures_of_a_cycle_graph():
    """Diameter n - 1, in-degree 1, every member as central as any other, and the spectrum of a cycle of four."""
    measured = measure(CIRCLE)

    assert (measured.diameter, measured.strongly_connected, measured.components) == (3, True, 1)
    assert measured.in_degrees == {1: 4}
    assert measured.betweenness == Spread(mean=1.0, least=1.0, most=1.0, variation=0.0)
    assert measured.algebraic_connectivity == pytest.approx(2 - 2 * math.cos(math.tau / 4))
    assert measured.spectral_gap == pytest.approx(1 - math.cos(math.tau / 4))
    assert measured.in_degree_by_arc is None
    assert measured.half_log2_n == 1.0


def test_everybody_who_knows_everybody_is_a_complete_graph():
    """Diameter 1, algebraic connectivity n, and nobody lies between two others."""
    complete = ring({0: [4, 8, 12], 4: [8, 12, 0], 8: [12, 0, 4], 12: [0, 4, 8]})
    measured = measure(complete)

    assert measured.diameter == 1
    assert measured.algebraic_connectivity == pytest.approx(4)
    assert measured.betweenness.most == 0
    assert measured.pointers == 12


def test_a_ring_that_nobody_leads_back_into_is_not_strongly_connected():
    """Then there is no diameter. Lookups end with a wrong owner at the last member: its own of keys that are not its
    own, and those that have to go by way of it.
    """
    measured = measure(ring({0: [4], 4: [8], 8: [12], 12: []}))

    assert (measured.strongly_connected, measured.diameter, measured.components) == (False, None, 4)
    assert measured.misled == pytest.approx((3 + 2 + 1 + 0) / 16)


def test_shares_of_lookups_through_members_add_up_to_the_members_of_a_path():
    """A path of so many hops passes one member more."""
    measured = measure(CHORD)

    assert sum(measured.passed_by_member.values()) == pytest.approx(measured.greedy.mean + 1)


def test_a_lookup_that_goes_round_in_a_circle_is_told():
    """Tables that lead nowhere are no ring, and not a loop without end."""
    astray = ring({0: [4], 4: [8], 8: [12], 12: [0]}, {4: [0]})
    router = Router(astray)
    router.known[1] = [0, 0]

    with pytest.raises(BadSnapshot, match="goes round in a circle"):
        router.tree_to(12)
    with pytest.raises(BadSnapshot, match="goes round in a circle"):
        router.path(0, 12)


@pytest.mark.parametrize("count", [1, 2, 9, 40])
def test_an_ideal_ring_has_no_faults_and_its_spectrum_agrees_with_networkx(count):
    """Eigenvalues from the adjacency that networkx has of the same graph."""
    snapshot = ideal_ring("c", [f"10.0.0.{number}:1" for number in range(count)], 1, 8)

    assert faults(snapshot) == []
    if count > 1:
        graph = graph_of(snapshot)
        assert measure(snapshot).diameter == nx.diameter(graph)
        assert spectrum(graph)[0] <= nx.node_connectivity(graph.to_undirected()) + 1 + 1e-9


def test_a_pointer_that_is_missing_or_outdated_is_a_fault():
    """Each is told once, by whom and where to."""
    lacking = ring({0: [4], 4: [8], 8: [12], 12: [0]}, {0: [4, 8], 4: [8, 12], 8: [12], 12: [0, 4]})
    outdated = ring({0: [4], 4: [8], 8: [12], 12: [0]}, {0: [4, 8], 4: [8, 12], 8: [12, 0, 4], 12: [0, 4]})
    cut = ring({0: [8], 4: [8], 8: [12], 12: [0]}, {0: [4, 8], 4: [8, 12], 8: [12, 0], 12: [0, 4]})

    assert faults(CHORD) == []
    assert faults(lacking) == [f"{hexadecimal(8)} lacks the finger {hexadecimal(0)}"]
    assert len(faults(outdated)) == 1
    assert f"{hexadecimal(0)} lists 1 successors, not the 1 that follow it" in faults(cut)


def test_graphml_is_read_by_networkx_again(tmp_path):
    """The same nodes and edges, with what is known of each."""
    graph = graph_of(CHORD, Delays(Model.constant, 1))
    write_graphml(graph, tmp_path / "ring.graphml")

    read = nx.read_graphml(tmp_path / "ring.graphml")

    assert dict(read.nodes(data=True)) == dict(graph.nodes(data=True))
    assert {(*edge[:2], *sorted(edge[2].items())) for edge in read.edges(data=True)} == {
        (*edge[:2], *sorted(edge[2].items())) for edge in graph.edges(data=True)
    }
    edge = read.edges[hexadecimal(0), hexadecimal(4)]
    assert edge == {"kind": "both", "reach": 0.25, "round_trip_ms": pytest.approx(20.0)}


def test_correlation_of_what_does_not_vary_is_unknown():
    """It would be nothing over nothing."""
    assert correlation([1, 2, 3], [2, 4, 6]) == pytest.approx(1)
    assert correlation([1, 2, 3], [5, 5, 5]) is None
