"""The latency model finds coefficients that are known, and tells what it cannot know."""

from __future__ import annotations

import io
import random
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from rich.console import Console

from chord.trace import HopTrace
from experiments.overlay import predicting, render
from experiments.overlay.ideal import ideal_ring
from experiments.overlay.lookups_of import Lookups, read
from experiments.overlay.measured_stretch import of_runs
from experiments.overlay.model import Group, NoModel, counted, fit, grouped
from experiments.overlay.routing import Router, entered_at
from experiments.overlay.snapshot import BadSnapshot, MemberView
from experiments.overlay.stretch import on_underlay, summed_up
from experiments.overlay.underlay import Delays
from experiments.ranks import quantile
from experiments.traces.examples import LOOKUP, RUN
from experiments.traces.run import BadRun
from sim.latency import HERE_S, Model

A_US, B_US = 300.0, 250.0


def made(members: int, c: float = 0.0, mode: str = "iterative", lookups: int = 400, a: float = A_US, b: float = B_US):
    """A run on an ideal ring, whose latencies have known medians and spread."""
    found = [f"127.0.0.1:{5000 + number}" for number in range(members)]
    ring = ideal_ring("c", found, 1, 3)
    router = Router(ring)
    rng = random.Random(members)
    rows = []
    for number in range(lookups):
        key, first = rng.getrandbits(64), found[number % members]
        path = router.path(entered_at(ring, router, first, key), key)
        owner = ring.members[router.named_owner(path[-1], key)]
        latency = (a + b * (len(path) - 1)) * (1 + c * members) * rng.choice((0.9, 1.0, 1.1))
        asked = [*(ring.members[at] for at in path), owner]
        rows.append(
            replace(
                LOOKUP,
                mode=mode,
                key=key,
                owner=int(owner.id, 16),
                owner_address=owner.address,
                hops=len(path) - 1,
                duration_us=round(latency),
                owner_us=200,
                hop_list=[HopTrace(int(each.id, 16), each.address, 200, False) for each in asked],
            )
        )
    info = replace(RUN, run=f"{mode}-{members}", source="live", ring_size=members, mode=mode)
    return Lookups(info, mode, Path(info.run), rows)


def test_known_coefficients_are_found():
    """Within what the spread allows, from two ring sizes that do not differ otherwise."""
    (found,) = predicting.fitted([made(4), made(16)])

    assert found.model.a_us == pytest.approx(A_US, rel=0.02)
    assert found.model.b_us == pytest.approx(B_US, rel=0.02)
    assert found.model.c == 0
    assert found.model.error < 0.02


def test_what_each_member_adds_is_found():
    """Processes that keep each other waiting: c, and a and b as they are without that."""
    (found,) = predicting.fitted([made(4, 0.02), made(8, 0.02), made(16, 0.02)])

    assert found.model.c == pytest.approx(0.02, abs=0.005)
    assert found.model.a_us == pytest.approx(A_US, rel=0.1)
    assert found.model.b_us == pytest.approx(B_US, rel=0.1)


@pytest.mark.parametrize("members", [6, 32, 64])
def test_the_median_of_another_size_is_predicted(members):
    """From its members and names alone: hops are reckoned, and all are as they were."""
    other = made(members)
    told = predicting.predict(predicting.fitted([made(4), made(16)]), other)

    assert abs(told.error) < 0.1
    assert (told.hops_from, told.same_hops) == ("ring", len(other.rows))


def test_hops_of_the_traces_are_taken_where_members_are_not_known():
    """And that is told."""
    unknown = made(8)
    unknown.info = replace(unknown.info, ring_size=None)

    told = predicting.predict(predicting.fitted([made(4), made(16)]), unknown)

    assert (told.hops_from, told.same_hops, told.members) == ("traces", None, 8)


def test_no_time_of_a_predicted_run_is_used():
    """Were it ten times as slow, the prediction would be the same, and the error tell of it."""
    models = predicting.fitted([made(4), made(16)])
    slow = made(8, a=10 * A_US, b=10 * B_US)

    assert predicting.predict(models, slow).predicted_us == predicting.predict(models, made(8)).predicted_us
    assert predicting.predict(models, slow).error == pytest.approx(-0.9, abs=0.02)


def test_another_mode_is_predicted_by_counting_messages():
    """2 (h + 1) messages iteratively, h + 3 recursively: with 100 us each both modes follow from either."""
    iterative = predicting.fitted([made(4, a=200, b=200), made(16, a=200, b=200)])[0].model
    recursive = iterative.for_mode("recursive")

    assert recursive.median_us(0, 4) == pytest.approx(300, rel=0.03)
    assert recursive.median_us(3, 4) == pytest.approx(600, rel=0.03)
    assert recursive.for_mode("iterative").median_us(3, 4) == pytest.approx(iterative.median_us(3, 4))


def test_each_run_is_predicted_from_the_others():
    """If there are others."""
    assert [one.run for one in predicting.leaving_out([made(4), made(8), made(16)])] == [
        "iterative-4",
        "iterative-8",
        "iterative-16",
    ]
    with pytest.raises(NoModel, match="is the only run"):
        predicting.leaving_out([made(4)])


def test_what_clients_look_up_on_the_way_is_no_workload():
    """Neither a few lookups nor, however many, those of a cell that was to make none."""
    few, plain, failing = made(4, lookups=18), made(8, lookups=100), made(8, lookups=90)
    failing.left_out = 10
    asked, clients = made(16), made(16)
    asked.info, clients.info = (replace(RUN, extra={"spec": {"lookups": lookups}}) for lookups in (400, 0))

    assert predicting.workloads([few, plain, failing, asked, clients]) == [plain, failing, asked]
    with pytest.raises(NoModel, match="iterative-4: no workload of 100 lookups or more"):
        predicting.workloads([few, clients])


def test_what_is_left_out_is_told_in_a_line_and_no_name_is_broken():
    """In a terminal of 80 columns, whatever the name; the figures stand below it."""
    name = "a-sweep-of-many-things-local-n0016-iterative-recursive-seed1-repeat-2-of-a-very-long-one"
    run = made(8, mode="recursive")
    one = replace(predicting.predict(predicting.fitted([made(4), made(16)]), run), run=name)
    said = io.StringIO()
    console = Console(file=said, width=80)

    render.left_out_text([], [f"direct-{number}" for number in range(7)], console)
    render.predictions_table([], [one], 0.2, console)

    lines = said.getvalue().splitlines()
    assert lines[0].startswith("left out 7 runs with no workload of 100 lookups or more: direct-0, direct-1,")
    assert lines[0].endswith("direct-4, ...")
    assert name in lines
    heading, figures = lines[2], lines[lines.index(name) + 1]
    assert figures.split()[:3] == ["recursive", "from", "iterative"]
    assert len(heading) == len(figures) <= 80


def test_a_run_that_is_predicted_is_not_fitted_on():
    """Nor if it lies in a directory that is given for the fit; something has to be left."""
    four, eight, sixteen = made(4), made(8), made(16)

    assert predicting.without([four, eight, sixteen], [replace_rows(eight)]) == [four, sixteen]
    with pytest.raises(NoModel, match="every run to fit on is to be predicted"):
        predicting.without([four, eight], [eight, four])


def replace_rows(run: Lookups) -> Lookups:
    """The same part, read a second time."""
    return Lookups(run.info, run.mode, run.traces, list(run.rows))


def test_a_part_that_is_given_twice_is_read_once(tmp_path):
    """By way of the sweep and of the cell: else it would be predicted from itself."""
    for cell in ("a", "b"):
        saved = replace(RUN, run=cell, source="live")
        saved.save(tmp_path / cell)
        (tmp_path / cell / "traces").mkdir()
        (tmp_path / cell / "traces" / "x.trace").write_bytes(msgspec.msgpack.encode(LOOKUP))

    found = read([tmp_path, tmp_path / "b", tmp_path / "b" / ".." / "b"])

    assert [run.name for run in found] == ["a (iterative)", "b (iterative)"]
    assert predicting.without(found, read([tmp_path / "b"])) == found[:1]


def test_a_median_between_two_counts_of_hops_is_that_of_both_together():
    """Half of them take no hop and half one: the median is where the slow of the ones meet the fast of the others."""
    model = fit("iterative", [Group(4, 0, [100] * 9 + [110]), Group(4, 1, [300] * 9 + [310])])

    assert model.p50_us({0: 6, 1: 4}, 4) < 150
    assert model.p50_us({0: 4, 1: 6}, 4) > 250


def test_lookups_of_one_hop_count_make_no_model():
    """What a hop takes cannot be told."""
    with pytest.raises(NoModel, match="same number of hops"):
        fit("iterative", grouped(1, [0, 0], [100, 120]))
    with pytest.raises(NoModel, match="no model was fitted on such runs"):
        predicting.predict([], made(4))


def test_hops_are_counted():
    """As whole numbers, in order."""
    assert counted([2, 0, 2]) == {0: 1, 2: 2}


# Stretch


def test_stretch_on_an_underlay_of_equal_links_counts_round_trips():
    """Iteratively a round trip to each member and the owner; recursively half of one for each message on the way."""
    everybody = ideal_ring("c", [f"10.0.0.{number}:1" for number in range(4)], 1, 3)
    delays = Delays(Model.constant, 1)
    router = Router(everybody)
    assert max(max(router.tree_to(identifier)[0]) for identifier in router.ids) == 1

    iterative, recursive = on_underlay(everybody, delays, 300, 1)

    assert iterative.direct_ms == pytest.approx(20.0)
    assert {round(iterative.p10), round(iterative.p90)} == {2, 3}, "it asks itself over the same link here"
    assert recursive.p10 == pytest.approx(1.0)
    assert recursive.p90 == pytest.approx(1.5)


@pytest.mark.parametrize("vnodes", [1, 4])
def test_a_ring_of_one_has_no_stretch(vnodes):
    """It owns every key itself, by whichever of its members."""
    with pytest.raises(BadSnapshot, match="no stretch"):
        on_underlay(ideal_ring("c", ["a:1"], vnodes, 8), Delays(Model.constant, 1), 10, 1)


def test_what_the_asker_s_process_owns_has_no_direct_way():
    """Of two processes with virtual nodes half of all keys are the asker's: there is no way to be longer than."""
    two = ideal_ring("c", ["10.0.0.1:1", "10.0.0.2:1"], 8, 8)

    iterative, _ = on_underlay(two, Delays(Model.king, 1), 200, 1)

    direct_ms = 1e3 * Delays(Model.king, 1).round_trip_s("10.0.0.1:1", "10.0.0.2:1")
    assert iterative.direct_ms == pytest.approx(direct_ms, rel=0.1)
    assert iterative.p90 < 10


def test_a_ring_in_which_everybody_names_itself_ends_in_an_error():
    """Members that know nobody, as before they have joined; not in a loop without an end."""
    alone = [
        MemberView(id=each.id, address=each.address, predecessor=None, successors=[], fingers=[])
        for each in ideal_ring("c", ["a:1", "b:1"], 1, 1).members
    ]
    ring = replace(ideal_ring("c", ["a:1", "b:1"], 1, 1), members=alone)

    with pytest.raises(BadSnapshot, match="of 1,000 lookups 0 ended at another process than the asker's, not 10"):
        on_underlay(ring, Delays(Model.constant, 1), 10, 1)


def test_an_asker_is_near_itself_on_every_other_underlay():
    """So asking itself first costs next to nothing."""
    assert Delays(Model.king, 1).one_way_s("a:1", "a:1") < 1.1 * HERE_S


def test_measured_stretch_is_over_the_round_trips_of_the_traces():
    """Every round trip being 200 us, a lookup that took h hops and the step to the owner is that many over one."""
    (row,) = of_runs([made(8, a=200, b=200)])

    assert row.way == "live, iterative"
    assert row.direct_ms == pytest.approx(0.2)
    assert row.p50 == pytest.approx(3, rel=0.15)


def test_recursive_lookups_alone_tell_no_direct_way():
    """Nobody knows what a round trip to the owner takes."""
    with pytest.raises(BadRun, match="no round trip to any owner"):
        of_runs([made(8, mode="recursive")])


def test_quantiles_are_of_nearest_rank():
    """Values that were there."""
    assert [quantile([1.0, 2.0, 3.0, 4.0], share) for share in (0.0, 0.25, 0.5, 0.51, 1.0)] == [1, 1, 2, 3, 4]
    assert summed_up("x", [(2.0, 1.0), (9.0, 3.0)]).mean_of_means == pytest.approx(11 / 4)
