"""Latency models: every pair has its own latency, the same for the same seed; their distribution is as it is meant."""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
from itertools import product
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chord.errors import LocalProtocolError
from sim import underlay
from sim.cluster import Cluster, address_of
from sim.latency import HERE_S, JITTER, Model, latency_of
from sim.network import Link

ROOT = Path(__file__).parents[3]
HOSTS = [address_of(number) for number in range(40)]
PAIRWISE = [Model.king, Model.transit_stub, Model.waxman, Model.geometric]
GRAPHS = [Model.transit_stub, Model.waxman, Model.geometric]


class NoJitter(random.Random):
    """Chance that takes nothing from the latency of a pair."""

    def random(self) -> float:
        return 0.0


def steady(model: Model, seed: int) -> dict[tuple[str, str], float]:
    """The latency of every ordered pair, without jitter."""
    latency = latency_of(model, seed)
    return {(source, target): latency(NoJitter(), source, target) for source, target in product(HOSTS, HOSTS)}


@pytest.mark.parametrize("model", PAIRWISE)
def test_a_pair_has_one_latency(model):
    """The same in both directions and for the same seed, whoever asks first; another one for another seed."""
    one = steady(model, 1)
    latency = latency_of(model, 1)
    backwards = {pair: latency(NoJitter(), *pair) for pair in reversed(list(one))}

    assert one == backwards
    assert one != steady(model, 2)
    for source, target in one:
        assert one[source, target] == one[target, source]
        assert (one[source, target] > HERE_S) == (source != target)


@pytest.mark.parametrize("model", list(Model))
@given(seed=st.integers(0, 2**40), chance=st.integers())
@settings(max_examples=5, deadline=None)
def test_every_latency_is_positive_and_short(model, seed, chance):
    """No frame travels back in time, or for longer than a second."""
    latency = latency_of(model, seed)
    rng = random.Random(chance)

    drawn = [latency(rng, rng.choice(HOSTS), rng.choice(HOSTS)) for _ in range(100)]

    assert min(drawn) > 0.0
    assert max(drawn) < 1.0


@pytest.mark.parametrize("model", PAIRWISE)
def test_frames_of_one_pair_overtake_each_other(model):
    """Jitter adds up to a twentieth."""
    latency = latency_of(model, 1)
    shortest = latency(NoJitter(), HOSTS[0], HOSTS[1])
    rng = random.Random(1)

    drawn = [latency(rng, HOSTS[0], HOSTS[1]) for _ in range(100)]

    assert drawn != sorted(drawn)
    assert shortest <= min(drawn) < max(drawn) <= shortest * (1 + JITTER)


def test_king_has_a_long_tail():
    """Over many pairs: median and mean round trip 154 and 180 ms, p99 over half a second, none above 800."""
    latency = latency_of(Model.king, 7)
    round_trips = sorted(2 * latency(NoJitter(), f"a{number}:1", f"b{number}:1") for number in range(20_000))

    assert statistics.median(round_trips) == pytest.approx(0.154, rel=0.03)
    assert statistics.fmean(round_trips) == pytest.approx(0.180, rel=0.03)
    assert 0.500 < round_trips[int(0.99 * len(round_trips))] < 0.620
    assert 0.700 < round_trips[-1] <= 0.800
    assert round_trips[0] >= 0.002


@pytest.mark.parametrize("model", GRAPHS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_distances_on_a_graph_are_shortest_paths(model, seed):
    """They are those of all pairs by another algorithm, and no detour over a third host is shorter."""
    under = underlay.Underlay(underlay.GRAPHS[model](seed), seed)
    hosts = HOSTS[:12]

    for one, other in product(hosts, hosts):
        ends = under.router(one), under.router(other)
        length, _path = nx.bidirectional_dijkstra(under.graph, *ends, weight="latency_s")
        expected = HERE_S if one == other else length + 2 * underlay.ACCESS_S
        assert under.latency_s(one, other) == pytest.approx(expected)
        for third in hosts:
            detour = under.latency_s(one, third) + under.latency_s(third, other)
            assert under.latency_s(one, other) <= detour + 1e-9


@pytest.mark.parametrize("model", GRAPHS)
@given(seed=st.integers(0, 2**40))
@settings(max_examples=3, deadline=None)
def test_all_hosts_reach_each_other(model, seed):
    """Hosts are attached to many routers, all in one component."""
    graph = underlay.GRAPHS[model](seed)

    places = {router for router, hosts in graph.nodes(data="hosts") if hosts}

    assert len(graph) == 400
    assert len(places) >= 200
    assert any(places <= component for component in nx.connected_components(graph))
    assert all(latency_s >= 0.0 for _one, _other, latency_s in graph.edges(data="latency_s"))


def test_a_transit_stub_graph_has_its_layers():
    """Sixteen transit routers without hosts, three stubs of eight at each; whoever shares a stub is near."""
    graph = underlay.transit_stub(5)

    transit = [router for router, hosts in graph.nodes(data="hosts") if not hosts]
    stubs = graph.copy()
    stubs.remove_nodes_from(transit)
    sizes = [len(component) for component in nx.connected_components(stubs)]

    assert len(transit) == 16
    assert nx.is_connected(graph.subgraph(transit))
    assert sizes == [8] * 48
    assert {latency_s for *_ends, latency_s in stubs.edges(data="latency_s")} == {underlay.WITHIN_STUB_S}
    assert sum(latency_s == underlay.TO_STUB_S for *_ends, latency_s in graph.edges(data="latency_s")) == 48


@pytest.mark.parametrize("model", list(Model))
def test_a_ring_becomes_ideal_under_every_model(model):
    """Eight nodes that join at once."""
    cluster = Cluster(3, link=Link(latency_of(model, 3)))
    cluster.start_many(8)

    assert cluster.converge(60.0) is not None, cluster.faults()
    assert not cluster.refused


def test_a_missing_package_is_one_line(monkeypatch):
    """It names the package and what to install; the other models need none."""
    monkeypatch.setitem(sys.modules, "networkx", None)
    monkeypatch.delitem(sys.modules, "sim.underlay")
    monkeypatch.delattr("sim.underlay")

    with pytest.raises(
        LocalProtocolError, match=r"^waxman needs networkx, which is not installed: `pip install 'ringcast\[sim\]'`$"
    ):
        latency_of(Model.waxman, 1)
    assert latency_of(Model.king, 1)(NoJitter(), "a:1", "b:1") > 0.0


@pytest.mark.parametrize("model", PAIRWISE)
def test_a_run_under_a_model_is_the_same_byte_for_byte(tmp_path, model):
    """Under any PYTHONHASHSEED; run.json names the model."""

    def run(name: str, hash_seed: str) -> dict[str, bytes]:
        arguments = ["ring", "--nodes", "4", "--lookups", "10", "--latency", model, "--trace", str(tmp_path / name)]
        done = subprocess.run(
            [sys.executable, "-m", "sim", *arguments],
            cwd=ROOT,
            env={"PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        files = (tmp_path / name).rglob("*")
        return {str(path.relative_to(tmp_path / name)): path.read_bytes() for path in files if path.is_file()}

    first, again = run("a", "1"), run("b", "2")

    assert first == again
    assert json.loads(first["run.json"])["latency"] == model


def test_only_who_asks_for_a_graph_loads_networkx():
    """A plain run starts without it."""
    program = (
        "import sys, sim.cli_app, sim.latency as l; l.latency_of(l.Model.king, 1); print('networkx' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"
