"""Lookups over an underlay take as long as the ways that their frames go."""

from __future__ import annotations

import pytest

from chord.errors import LookupFailed
from sim.network import constant
from sim.paper import counts, stretch
from sim.paper.figure import Measured
from sim.paper.traced import Traced

SMALL = {"nodes": 64, "underlay": "waxman", "askers": 4, "lookups": 12, "seed": 2}


def test_where_all_are_equally_far_stretch_counts_exchanges(monkeypatch):
    """Iterative: one each hop and one to the owner. Recursive: half as many, and half a round trip back."""
    monkeypatch.setattr(stretch, "latency_of", lambda _model, _seed: constant(0.020))
    result = stretch.measure(SMALL, Traced())

    hops = {int(hop): number for hop, number in result["hops"].items()}
    assert sum(hops.values()) >= 4 * (12 - stretch.WARM) - 4
    assert max(hops) >= 2
    by_way = {way: counts.total([result[f"stretch {way}"]]) for way in stretch.WAYS}
    assert by_way["to predecessor"] == {1000 * hop: number for hop, number in sorted(hops.items())}
    assert by_way["iterative"] == {1000 * hop + 1000: number for hop, number in sorted(hops.items())}
    assert by_way["recursive"] == {500 * hop + 1000: number for hop, number in sorted(hops.items())}
    assert counts.total([result["direct"]]) == {40_000: sum(hops.values())}
    assert result["lost"] == result["timeouts"] == 0


@pytest.mark.parametrize("underlay", list(stretch.UNDERLAYS))
def test_recursive_lookups_take_less_time_over_an_underlay(underlay):
    """The same keys; no way is shorter than the direct one but for jitter."""
    pytest.importorskip("networkx")
    result = stretch.measure(SMALL | {"underlay": underlay}, Traced())

    latency = {way: counts.mean(counts.total([result[f"latency {way}"]])) for way in stretch.WAYS}
    assert latency["recursive"] < latency["iterative"] > latency["to predecessor"]
    assert min(counts.total([result["stretch recursive"]])) > 950
    assert result == stretch.measure(SMALL | {"underlay": underlay}, Traced())


def test_a_recursive_lookup_that_is_given_up_is_told(monkeypatch):
    """It counts for nothing else, and its trace says so."""

    def lost(*_arguments):
        raise LookupFailed("lost")
        yield

    monkeypatch.setattr(stretch, "latency_of", lambda _model, _seed: constant(0.020))
    monkeypatch.setattr(stretch, "find_owner_recursively", lost)
    traced = Traced()
    result = stretch.measure(SMALL, traced)

    assert result["hops"] == {}
    assert 20 < result["lost"] <= 4 * (12 - stretch.WARM)
    ended = [(row.mode, row.outcome) for row in traced.rows]
    assert ended == [("iterative", "ok"), ("recursive", "LookupFailed")] * result["lost"]


def measured(nodes=1 << 16, medians=(7.8, 6.8, 4.5), **changes):
    """One lookup that took as long as the published median."""
    result = {"lost": 0, "timeouts": 0, "hops": {"7": 1}, "direct": {"100000": 1}}
    for way, median in zip(stretch.WAYS, medians, strict=True):
        result |= {f"latency {way}": {str(round(median * 1e5)): 1}, f"stretch {way}": {str(round(median * 1e3)): 1}}
    return [
        Measured({"nodes": nodes, "underlay": underlay, "seed": 1}, result | changes) for underlay in stretch.UNDERLAYS
    ]


def test_the_published_size_stands_beside_what_is_published():
    """Marked as what has yet to be checked; other sizes have nothing to stand beside."""
    told = stretch.table(measured())
    rows = [dict(zip(told.columns, row, strict=True)) for row in told.rows]

    found = {(row["way"], row["underlay"]): row["published stretch (to be checked)"] for row in rows}
    assert found["iterative", "waxman"] == 7.8
    assert found["recursive", "transit-stub"] == 4.1
    assert found["to predecessor", "waxman"] is None
    assert (rows[0]["latency ms"], rows[0]["direct ms"], rows[0]["stretch"]) == (780.0, 100.0, 7.8)
    assert all(holds for _, holds in told.agrees)
    assert len(told.agrees) == 8
    assert len(stretch.table(measured(nodes=1024)).agrees) == 4


@pytest.mark.parametrize(
    ("changes", "differences"), [({"medians": (9.5, 8.5, 4.5)}, 2), ({"lost": 1}, 2), ({"timeouts": 1}, 2)]
)
def test_what_differs_is_told(changes, differences):
    """A median that is far off, lookups that are given up, time-outs; on either underlay."""
    assert sum(not holds for _, holds in stretch.table(measured(**changes)).agrees) == differences


def test_published_points_are_drawn_as_crosses():
    """Both ways on both underlays, at 2^16 nodes."""
    figure = pytest.importorskip("matplotlib.figure")
    axes = figure.Figure().subplots()
    stretch.draw(axes, measured())

    crosses = [tuple(line.get_xydata()[0]) for line in axes.get_lines() if line.get_marker() == "x"]
    assert crosses == [(65_536, 7.2), (65_536, 4.1), (65_536, 7.8), (65_536, 4.5)]
