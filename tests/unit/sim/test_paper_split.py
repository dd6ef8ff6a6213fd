"""A split as the figure has it: how rings are counted, what counts as right, and what it expects."""

from __future__ import annotations

import copy

import pytest

from chord.settings import Settings
from sim.cluster import Cluster
from sim.ideal import start_ideal
from sim.paper import split
from sim.paper.figure import Measured
from sim.paper.report import ROWS_SHOWN
from sim.paper.splitting import GET_OTHER, LOOKUP, PUT, count_rings
from sim.paper.traced import Traced


@pytest.fixture(scope="module")
def small():
    """8 nodes cut 5 to 3 for 20 s."""
    cell = {"nodes": 8, "cut_off": 3, "cut_s": 20, "after_s": 20, "seed": 1}
    return Measured(cell, split.measure(cell, Traced()))


def column(told, name):
    return [row[told.columns.index(name)] for row in told.rows]


def test_rings_are_counted_along_the_first_successors():
    """Two rings are two, whoever leads onto one belongs to it, and who knows nobody is a ring by itself."""
    one, other = Cluster(1, Settings(cluster="one")), Cluster(2)
    start_ideal(one, 5, upkeep=False)
    assert count_rings(one.members()) == 1

    for number in range(20):
        other.place(f"10.9.9.{number}:5000")
    before, first, second = sorted(other.members(), key=lambda member: member.me.id)[:3]
    for member in (before, first, second):
        member.active = True
    assert count_rings([*one.members(), *other.members()]) == 4

    first.state = first.state.with_list((second.me,), closes=True)
    second.state = second.state.with_list((first.me,), closes=True)
    onto = min(one.members(), key=lambda member: member.me.id)
    before.state = before.state.with_list((onto.me,), closes=False)
    assert before.me.id < onto.me.id
    assert count_rings([*one.members(), *other.members()]) == 2


def test_a_split_is_seen_and_healed(small):
    """One ring, two, one; the lookups of either side are right while nothing changes, and no record is lost."""
    told = split.table([small])

    assert all(holds for _, holds in told.agrees), told.agrees
    assert column(told, "second") == list(range(-split.BEFORE_S, 40))
    rings = column(told, "rings")
    assert (rings[0], rings[split.BEFORE_S + 19], rings[-1]) == (1, 2, 1)
    assert column(told, "lookups right")[0] == 1.0
    assert column(told, "gets right")[-1] == column(told, "puts taken")[-1] == 1.0


def test_what_the_other_side_wrote_is_asked_for_once_healed(small):
    """Not before, and it is found in the end."""
    found = column(split.table([small]), "the other side's found")

    assert found[: split.BEFORE_S + 20] == [None] * (split.BEFORE_S + 20)
    assert found[split.BEFORE_S + 20] < 1.0
    assert found[-1] == 1.0


def test_puts_fail_right_after_the_cut_and_two_rings_are_wrong_about_each_other_after_it(small):
    """So the figure has something to show: at the cut answers are late or missing, at the healing wrong."""
    told = split.table([small])

    latencies = column(told, "median ms")
    assert max(latencies[split.BEFORE_S :][:5]) > 2 * latencies[0]
    assert min(column(told, "puts taken")[split.BEFORE_S :][:5]) < 1.0
    assert column(told, "lookups wrong")[split.BEFORE_S + 20] > 0


def test_a_terminal_shows_the_seconds_about_each_change_and_what_they_come_to(small):
    """Cut, healing and the moment from which there is one ring, with both ends of the time line; and one line more."""
    told = split.table([small])
    shown = [told.rows[at][0] for at in told.telling]

    one_ring_s = small.result["one_ring_s"]
    assert {-10, -1, 0, 1, 19, 20, 21, int(one_ring_s), int(one_ring_s) + 1, 39} <= set(shown)
    assert shown == sorted(shown)
    assert len(shown) <= ROWS_SHOWN < len(told.rows)
    records = small.result["records"]
    assert told.notes[0] == f"one ring {one_ring_s - 20:.1f} s after the healing; records lost 0 of {records}"


def test_what_was_lost_and_what_stayed_apart_is_told(small):
    """Of all runs together."""
    apart = Measured(small.parameters, {**small.result, "one_ring_s": None, "kept": small.result["kept"] - 2})
    records = 2 * small.result["records"]

    said = split.table([small, apart]).notes[0]

    assert said == f"no single ring after the healing in 1 of 2 runs; records lost 2 of {records}"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"kept": 0}, "every record is there in the end in each of 1 run"),
        ({"one_ring_s": 51.0}, "one ring within 30 s of the healing in each of 1 run"),
        ({"two_rings_s": None}, "two rings before the healing in each of 1 run"),
    ],
)
def test_a_run_that_went_otherwise_does_not_hold(small, change, expected):
    """Each expectation can fail."""
    result = {**small.result, **change}

    failed = [text for text, holds in split.table([Measured(small.parameters, result)]).agrees if not holds]

    assert expected in failed


@pytest.mark.parametrize(
    ("second", "when"), [(-5, "before the cut"), (18, "from two rings to the healing"), (39, "from one ring on")]
)
def test_a_wrong_lookup_in_a_calm_second_does_not_hold(small, second, when):
    """Of whatever kind the rest is."""
    result = copy.deepcopy(small.result)
    row = next(row for row in result["seconds"] if (row["kind"], row["second"]) == (LOOKUP, second))
    row["right"] -= 1
    row["wrong"] += 1

    failed = [text for text, holds in split.table([Measured(small.parameters, result)]).agrees if not holds]

    assert failed == [f"every lookup right {when}"]


def test_everything_that_is_asked_has_an_outcome(small):
    """20 lookups and 4 puts a second, on both sides together, and records of the other side from the healing on."""
    for row in small.result["seconds"]:
        asked = sum(row[name] for name in ("right", "wrong", "failed", "absent"))
        assert asked == {LOOKUP: 20, PUT: 4}.get(row["kind"], 10)
        assert row["kind"] != GET_OTHER or row["second"] >= 20
