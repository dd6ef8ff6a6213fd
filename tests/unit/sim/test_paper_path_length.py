"""Path lengths by production code are those that the definition of a finger gives, lookup by lookup."""

from __future__ import annotations

import math
import random

import pytest

from sim.paper import counts, distribution, path_length
from sim.paper.figure import Measured
from sim.paper.rings import ideal, path_lengths
from sim.paper.traced import Traced


@pytest.mark.parametrize("nodes", [1, 2, 3, 8, 50])
def test_fingers_alone_lead_as_their_definition_says(nodes):
    """The same lookups, counted by brute force on sorted identifiers."""
    hosts = ideal(nodes, 1, seed=nodes)
    ours = path_lengths(hosts, 300, random.Random("lookups"))

    identifiers = [host.members[0].me.id for host in hosts]
    assert ours == path_length.brute_force(identifiers, 300, random.Random("lookups"))


def test_a_wrong_finger_is_seen():
    """One member takes a way of its own: the two counts differ."""
    hosts = ideal(50, 1, seed=1)
    member = hosts[0].members[0]
    member.fill_finger(63, member.state.successor)

    ours = path_lengths(hosts, 2000, random.Random("lookups"))

    identifiers = [host.members[0].me.id for host in hosts]
    assert ours != path_length.brute_force(identifiers, 2000, random.Random("lookups"))


def test_lists_shorten_the_way():
    """By half log2 of their length, more or less."""
    fingers = counts.mean(path_lengths(ideal(256, 1, seed=1), 2000, random.Random(1)))
    lists = counts.mean(path_lengths(ideal(256, 16, seed=1), 2000, random.Random(1)))

    assert 0.6 < fingers - lists < 1.4


def test_quick_cells_become_rows_and_what_was_expected_of_them():
    """Each size has both kinds; those from 1,024 on are held against half log2 N - 0.138."""
    chosen = [cell for cell in path_length.cells(True) if cell["nodes"] in (16, 1024)]
    measured = [Measured(cell, path_length.measure(cell, Traced())) for cell in chosen]
    table = path_length.table(measured)

    assert [row[:2] for row in table.rows] == [[16, "fingers"], [1024, "fingers"], [16, "lists"], [1024, "lists"]]
    assert [row[9] for row in table.rows] == [None, pytest.approx(4.862), None, None]
    assert [row[5] is None for row in table.rows] == [row[2] == 1 for row in table.rows]
    assert dict(table.agrees)["16 nodes: as brute force on the same rings"]
    assert dict(table.agrees)["1024 nodes: within 0.02 of 4.862"] == (abs(table.rows[1][4] - 4.862) <= 0.02)


def test_a_distribution_is_held_against_the_law():
    """Also in its small form."""
    measured = [Measured(cell, distribution.measure(cell, Traced())) for cell in distribution.cells(True)]
    told = distribution.table(measured)
    middle = sum(hops * share for hops, share, _ in told.rows)

    assert told.agrees == [("mean within 0.02 of 4.862", abs(middle - 4.862) <= 0.02)]
    assert sum(ones for *_, ones in told.rows) == 1.0


def test_percentiles_are_those_of_the_values_in_order():
    """Nearest rank; and what was counted on several processes adds up."""
    together = counts.total([{"1": 1, "4": 49}, {"1": 1, "9": 49}])

    assert together == {1: 2, 4: 49, 9: 49} == counts.total([counts.as_json(together)])
    assert [counts.percentile(together, percent) for percent in (1, 2, 3, 51, 52, 99, 100)] == [1, 1, 4, 4, 9, 9, 9]
    assert counts.mean(together) == pytest.approx(6.39)
    assert counts.standard_error([1.0, 2.0, 3.0, 2.0]) == pytest.approx(math.sqrt(2 / 3) / 2)
    assert counts.standard_error([1.0]) == math.inf
