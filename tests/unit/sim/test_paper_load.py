"""Keys per node are counted as a plain search counts them, and spread as random ones do."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest
from rich.console import Console

from chord.identifiers import IdentifierSpace
from sim.cluster import address_of
from sim.paper import load, report
from sim.paper.figure import Measured
from sim.paper.traced import Traced

REFERENCE = [(1, 0.01, 4.65), (2, 0.06, 3.33), (5, 0.23, 2.37), (10, 0.38, 1.93), (20, 0.51, 1.65)]
"""Virtual nodes, 1st and 99th percentile."""

SMALL = {"nodes": 40, "keys": 500, "seed": 5}


def by_search(keys, virtual, nodes):
    """Each key goes round the circle until it meets an identifier; how many each node has, in order."""
    space = IdentifierSpace()
    owners = {
        space.member("ring-5", address_of(node), index): node for node in range(nodes) for index in range(virtual)
    }
    loads = Counter(
        owners[min(owners, key=lambda identifier: space.distance(space.key(f"5/{number}"), identifier))]
        for number in range(keys)
    )
    return sorted(loads[node] for node in range(nodes))


def test_keys_are_counted_at_their_owners():
    """Those of 10 numbers of keys, then of more virtual nodes; of 40 nodes the ends are the 1st and 99th percentile."""
    rows = load.measure(SMALL, Traced())["rows"]

    assert [row[:2] for row in rows] == [[50 * step, 1] for step in range(1, 11)] + [[500, v] for v in (2, 5, 10, 20)]
    for keys, virtual, *spread in rows:
        ordered = by_search(keys, virtual, 40)
        assert spread == [keys / 40, ordered[0], ordered[-1], ordered[-1], ordered.count(0)]


def test_percentiles_are_of_the_nodes_by_nearest_rank():
    """Of 200 nodes the second from below, and the 198th."""
    assert load._spread([*range(1, 200), 0]) == [99.5, 1, 197, 199, 1]


def test_another_seed_is_another_ring():
    """And the same seed the same."""
    assert load.measure(SMALL, Traced()) == load.measure(SMALL, Traced()) != load.measure(SMALL | {"seed": 6}, Traced())


def test_expected_percentiles_are_those_of_random_numbers():
    """Of two nodes each share is as likely as any other; more nodes are drawn anew."""
    assert [load.expected(2, 99, 1, percent) for percent in (1, 50, 99)] == [0, 49, 98]

    rng = random.Random(4)
    draws = sorted(_draw(rng, 30, 300, 3) for _ in range(4_000))
    assert load.expected(30, 300, 3, 90) == pytest.approx(draws[3_600], abs=1)
    assert load.expected(10_000, 1_000_000, 1, 99) == pytest.approx(100 * math.log(100), rel=0.01)


def _draw(rng, nodes, keys, virtual):
    """Keys of the first node when everything is thrown on a circle."""
    ring = sorted((rng.random(), number % nodes) for number in range(nodes * virtual))
    points, owners = zip(*ring, strict=True)
    thrown = sorted(rng.random() for _ in range(keys))
    at = mine = 0
    for key in thrown:
        while at < len(points) and points[at] < key:
            at += 1
        mine += owners[at % len(points)] == 0
    return mine


@pytest.fixture(scope="module")
def measured():
    """Rings whose 99th percentiles are exactly those expected."""
    rows = [
        [keys, virtual, keys / 10_000, 1, load.expected(10_000, keys, virtual, 99), 900, 0]
        for keys, virtual in [
            *((100_000 * step, 1) for step in range(1, 11)),
            *((1_000_000, v) for v in (2, 5, 10, 20)),
        ]
    ]
    return [Measured({"nodes": 10_000, "keys": 1_000_000, "seed": seed}, {"rows": rows}) for seed in range(2)]


def test_a_row_stands_beside_what_is_published(measured):
    """And every expectation holds of what is expected."""
    told = load.table(measured)

    last = dict(zip(told.columns, told.rows[-1], strict=True))
    assert (last["virtual"], last["p99"], last["expected p99"]) == (20, 1.65, 1.65)
    assert (last["published p1"], last["published p99"], last["reference p99"]) == (0.5, 1.6, 1.65)
    half = dict(zip(told.columns, told.rows[4], strict=True))
    assert (half["keys"], half["published p99"], half["published most"]) == (500_000, 4.6, 9.1)
    assert told.agrees[0][0].startswith("100000 keys, 1 virtual node: ")
    assert all(holds for _, holds in told.agrees)


def test_the_table_fits_a_terminal_of_eighty_columns(measured):
    """No number goes on in the next line."""
    told = load.table(measured)
    narrow, wide = Console(record=True, width=80), Console(record=True, width=200)
    for console in (narrow, wide):
        report.show(load.FIGURE, told, [0, 1], True, console)

    lines, others = (console.export_text().splitlines() for console in (narrow, wide))
    rows = [line.split() for line in lines if line.strip()[:1].isdigit()]
    assert len(rows) > len(told.rows)
    assert rows == [line.split() for line in others if line.strip()[:1].isdigit()]


def test_each_number_stands_in_its_column():
    """Over the mean what is a load; of several rings the mean of theirs, and how sure the 99th percentile is."""
    cells = [
        Measured(
            {"nodes": 10_000, "keys": 1_000_000, "seed": seed},
            {"rows": [[keys, virtual, keys / 10_000, 3, p99, 700, 50] for keys, virtual in ((500_000, 1), (10**6, 2))]},
        )
        for seed, p99 in enumerate((240, 250, 260))
    ]
    told = load.table(cells)
    half, two = (dict(zip(told.columns, row, strict=True)) for row in told.rows)

    expected = load.expected(10_000, 500_000, 1, 99) / 50
    assert list(half.values()) == [
        *(500_000, 1, 3, 50.0, pytest.approx(0.06), pytest.approx(5.0)),
        *(pytest.approx(0.2 / math.sqrt(3)), pytest.approx(14.0), 0.005),
        *(None, 4.6, 9.1, None, 4.66, expected),
    ]
    assert [two[f"{whose} p{percent}"] for whose in ("published", "reference") for percent in (1, 99)] == [
        *(None, None),
        *(0.06, 3.33),
    ]
    assert two["published most"] is None
    assert (two["p1"], two["p99"], two["most"]) == tuple(pytest.approx(value) for value in (0.03, 2.5, 7.0))


def test_the_reference_has_a_few_numbers_of_keys(measured):
    """And each number of virtual nodes."""
    told = load.table(measured)
    columns = ("keys", "virtual", "reference p1", "reference p99")
    rows = [[row[told.columns.index(name)] for name in columns] for row in told.rows]

    assert [row for row in rows if row[3] is not None] == [
        [100_000, 1, None, 4.80],
        [500_000, 1, None, 4.66],
        *([1_000_000, virtual, low, high] for virtual, low, high in REFERENCE),
    ]


@pytest.mark.parametrize(
    ("row", "load_of_99th", "differences"),
    [
        (0, 55, 2),
        (9, 430, 2),
        (9, 454, 1),
        (9, 456, 0),
        (9, 480, 1),
        (9, 486, 2),
        (13, 165, 0),
        (13, 166, 1),
        (13, 170, 2),
    ],
)
def test_what_differs_is_told(measured, row, load_of_99th, differences):
    """One percentile that is off, in either figure: what is wanted, rounded, and 2 % from random identifiers."""
    rows = [list(each) for each in measured[0].result["rows"]]
    rows[row][4] = load_of_99th
    told = load.table([Measured(one.parameters, {"rows": rows}) for one in measured])

    assert sum(not holds for _, holds in told.agrees) == differences


def test_published_points_are_drawn_as_crosses(measured):
    """Where their rows are."""
    figure = pytest.importorskip("matplotlib.figure")
    axes = figure.Figure().subplots()
    load.draw(axes, measured)

    crosses = {line.get_marker(): list(map(tuple, line.get_xydata())) for line in axes.get_lines()}
    assert crosses["x"] == [(4.0, 4.6), (9.0, 4.8), (13.0, 1.6)]
    assert crosses["+"] == [(9.0, 0.0), (13.0, 0.5)]
