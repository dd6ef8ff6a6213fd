"""Ten simulated sites are as far apart as they are meant to be, and lookups take what their exchanges take."""

from __future__ import annotations

import random
import statistics
from itertools import combinations

import pytest

from sim.cluster import address_of
from sim.paper import counts, prototype
from sim.paper.figure import Measured
from sim.paper.traced import Traced

ADDRESSES = [address_of(number) for number in range(30)]
SMALL = {"nodes": 20, "successors": 1, "beds": 1, "seed": 4}


class OnTime(random.Random):
    """No frame is late."""

    def expovariate(self, _lambd=1.0):
        return 0.0


def round_trips(seed):
    """Between every two processes, in milliseconds."""
    latency = prototype.sites(ADDRESSES, seed)
    pairs = combinations(ADDRESSES, 2)
    return {pair: 1e3 * (latency(OnTime(), *pair) + latency(OnTime(), *reversed(pair))) for pair in pairs}


def test_sites_are_a_median_of_sixty_milliseconds_apart_with_a_long_tail():
    """Of their 45 pairs; the tail is that of a log-normal distribution."""
    far = sorted({trip for (one, other), trip in round_trips(1).items() if _site(one) != _site(other)})

    assert len(far) == 45
    assert statistics.median(far) == pytest.approx(60.0)
    assert statistics.fmean(far) == pytest.approx(69.0, abs=1.0)
    assert 10.0 < far[0] < 25.0
    assert 200.0 < far[-1] < 250.0


def _site(address):
    return ADDRESSES.index(address) % 10


def test_processes_of_a_site_are_near_each_other():
    """Half a millisecond, round about."""
    near = {trip for (one, other), trip in round_trips(1).items() if _site(one) == _site(other)}

    assert list(near) == [pytest.approx(0.5)] * len(near)


def test_another_test_bed_is_the_same_distribution_in_another_order():
    """And the same one for the same seed."""
    assert round_trips(1) == round_trips(1) != round_trips(2)
    assert sorted(round_trips(1).values()) == pytest.approx(sorted(round_trips(2).values()))


def test_a_frame_is_late_by_a_tenth_on_average():
    """No frame is early."""
    latency = prototype.sites(ADDRESSES, 1)
    rng = random.Random(5)
    least = latency(OnTime(), *ADDRESSES[:2])
    drawn = [latency(rng, *ADDRESSES[:2]) / least for _ in range(5_000)]

    assert min(drawn) >= 1.0
    assert statistics.fmean(drawn) == pytest.approx(1.1, abs=0.01)


def test_every_site_looks_sixteen_keys_up():
    """Nothing times out, and more nodes make more hops."""
    few = prototype.measure(SMALL, Traced())
    many = prototype.measure(SMALL | {"nodes": 100}, Traced())

    assert sum(few["latencies"].values()) == sum(few["hops"].values()) == 160
    assert few["timeouts"] == many["timeouts"] == 0
    assert counts.mean(counts.total([few["hops"]])) < counts.mean(counts.total([many["hops"]]))


def test_a_lookup_takes_its_round_trips(monkeypatch):
    """On sites that are all 60 ms apart: one for each hop, and one to the owner, unless the asker itself is that."""
    monkeypatch.setattr(prototype, "sites", lambda _addresses, _seed: lambda _rng, _one, _other: 0.030)
    result = prototype.measure(SMALL, Traced())

    trips = {int(latency) / 60_000 for latency in result["latencies"]}
    assert trips == {float(trip) for trip in range(len(trips))}
    taken = sum(int(latency) / 60_000 * number for latency, number in result["latencies"].items())
    hops = sum(int(hop) * number for hop, number in result["hops"].items())
    own = result["latencies"].get("0", 0)
    assert taken == pytest.approx(hops + 160 - own)


def measured(median_ms):
    cell = {"beds": 1, "seed": 1}
    return [
        Measured(
            cell | {"nodes": nodes, "successors": successors},
            {"timeouts": 0, "hops": {"2": 3}, "latencies": {"1000": 1, str(latency * 1000): 1, "900000": 1}},
        )
        for nodes, latency in ((180, median_ms), (10, 180))
        for successors in (1, 8)
    ]


def test_a_row_stands_beside_what_is_published():
    """The published median and expectation at 180 nodes."""
    told = prototype.table(measured(285))
    row = dict(zip(told.columns, told.rows[1], strict=True))

    assert (row["list"], row["nodes"], row["median ms"], row["p5 ms"], row["p95 ms"]) == (1, 180, 285, 1, 900)
    assert (row["published median ms"], row["published expectation ms"]) == (285, 300)
    assert all(holds for _, holds in told.agrees)


@pytest.mark.parametrize(("median_ms", "differences"), [(340, 1), (150, 3)])
def test_what_differs_is_told(median_ms, differences):
    """A median that is off; and one that falls with more nodes, in both kinds."""
    told = prototype.table(measured(median_ms))

    assert sum(not holds for _, holds in told.agrees) == differences


def test_published_points_are_drawn_as_crosses():
    """The two that are known."""
    figure = pytest.importorskip("matplotlib.figure")
    axes = figure.Figure().subplots()
    prototype.draw(axes, measured(285))

    (crosses,) = [line for line in axes.get_lines() if line.get_marker() == "x"]
    assert sorted(map(tuple, crosses.get_xydata())) == [(10, 180), (180, 285)]
