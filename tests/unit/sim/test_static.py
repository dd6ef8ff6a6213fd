"""Static rings: how they are made, what a study of one tells, and the command line."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from chord.errors import LocalProtocolError
from chord.identifiers import IdentifierSpace
from sim.cli_static import amount, static
from sim.cluster import address_of
from sim.static import engine, making, study, walking
from sim.static.load import shares
from sim.static.report import Engine, IdentifierSource, Options
from sim.static.ring import Ring


def chance(seed=1):
    return np.random.default_rng(seed)


def clock():
    return 0.0


def test_a_member_takes_twelve_bytes_at_most():
    """Identifier and index; fewer where a size is no power of two."""
    for nodes in (2**12, 2**12 - 1, 3000):
        assert making.drawn(nodes, 1, chance()).nbytes <= 12 * nodes + 8


@pytest.mark.parametrize("bits", [7, 12, 63, 64])
@pytest.mark.parametrize("nodes", [1, 2, 3, 100])
def test_the_owner_is_the_first_at_or_after_a_key(bits, nodes):
    """Or the first of all, where the circle closes."""
    ring = making.drawn(nodes, 1, chance(bits), bits)
    identifiers = (ring.row[:-1] >> np.uint64(64 - bits)).tolist()
    keys = [*identifiers, *((one + 1) % 2**bits for one in identifiers), 0, 2**bits - 1]

    found = ring.owners(ring.shifted(np.array(keys, np.uint64)))

    assert identifiers == sorted(set(identifiers))
    assert found.tolist() == [next((place for place, one in enumerate(identifiers) if one >= key), 0) for key in keys]


def test_identifiers_that_crowd_together_are_found():
    """An index of nearly equal identifiers helps little, and does no harm."""
    identifiers = np.arange(2**40, 2**40 + 500, dtype=np.uint64)

    found = Ring(identifiers).owners(identifiers - np.uint64(1))

    assert found.tolist() == [0, *range(499)]


def test_there_is_no_ring_of_nobody():
    with pytest.raises(ValueError, match="at least one member"):
        Ring(np.empty(0, np.uint64))


def test_hashed_identifiers_are_those_of_production_members():
    """With whose each is, in the order of the ring."""
    space = IdentifierSpace(16)
    ring = making.hashed(30, 4, "some-cluster", space)
    members = {space.member("some-cluster", address_of(node), index): node for node in range(30) for index in range(4)}

    assert (ring.row[:-1] >> np.uint64(48)).tolist() == sorted(members)
    assert ring.processes.tolist() == [members[identifier] for identifier in sorted(members)]


def test_of_members_with_one_identifier_the_first_is_there():
    """As a second one is refused when it joins."""
    ring = making.hashed(40, 2, "c", IdentifierSpace(6))
    first = {}
    for node in range(40):
        for index in range(2):
            first.setdefault(IdentifierSpace(6).member("c", address_of(node), index), node)

    assert ring.size == len(first) < 80
    assert ring.processes.tolist() == [first[identifier] for identifier in sorted(first)]


def test_shares_are_the_arcs_of_all_members_of_a_process():
    """Over their mean, so that they add up to the number of processes."""
    ring = Ring(np.array([10, 40, 200], np.uint64), 8, np.array([0, 1, 0], np.uint32))

    assert shares(ring, 2).tolist() == [(66 + 160) / 128, 30 / 128]


def test_a_single_member_has_everything():
    assert shares(Ring(np.array([3], np.uint64), 8), 1).tolist() == [1.0]


def test_percentiles_of_the_load_are_of_the_nodes_by_nearest_rank():
    """Of 200 nodes the second from below, and the 198th."""
    options = Options(nodes=200, lookups=1)
    ordered = sorted(shares(study.make(options).ring, 200).tolist())
    report = study.run(options, clock)

    assert (report.load_p1, report.load_p99, report.load_most) == (ordered[1], ordered[197], ordered[199])


def test_virtual_nodes_even_it_out():
    """As figure 9 of the SIGCOMM paper tells: 4.6 times the mean at the 99th percentile, and 1.6 with 20."""
    single, twenty = (np.percentile(shares(making.drawn(2_000, vnodes, chance()), 2_000), 99) for vnodes in (1, 20))

    assert 4.0 < single < 5.2
    assert 1.4 < twenty < 1.8


def test_the_mean_is_half_log2_n():
    """Fingers alone: - 0.138, of 20,000 lookups in a ring of 2^14."""
    report = study.run(Options(nodes=2**14, lookups=20_000), clock)

    assert report.expected_hops == 7 - 0.138
    assert report.hops.mean == pytest.approx(report.expected_hops, abs=0.06)
    assert (report.hops.p1, report.hops.p99) == (3, 11)
    assert sum(report.hops.distribution.values()) == 20_000
    assert report.timeouts.distribution == {0: 20_000}
    assert report.failed == 0


def test_half_log2_is_of_members():
    """Virtual nodes are members: a lookup goes from one to another."""
    report = study.run(Options(nodes=64, vnodes=16, lookups=100, identifiers=IdentifierSource.hashed), clock)

    assert report.expected_hops == pytest.approx(math.log2(1024) / 2 - 0.138)


def test_in_small_rings_nothing_is_expected_of_the_mean():
    """The law holds from 1,024 members on."""
    assert study.run(Options(nodes=1_023, lookups=10), clock).expected_hops is None


def test_successor_lists_spare_hops():
    """Column B of the reference: 3.78 at 1,024 with 20 of them. Nothing is expected of the mean then."""
    report = study.run(Options(nodes=1_024, lookups=20_000, successors=20), clock)

    assert report.hops.mean == pytest.approx(3.78, abs=0.1)
    assert report.expected_hops is None


def test_failures_are_those_of_table_ii():
    """A thousand nodes with lists of 20, half of them failed: there 5.09 and 5.10."""
    ran = [
        study.run(Options(nodes=1_000, lookups=2_000, successors=20, fail=0.5, seed=seed), clock) for seed in range(12)
    ]

    assert sum(report.hops.mean for report in ran) / 12 == pytest.approx(5.07, rel=0.03)
    assert sum(report.timeouts.mean for report in ran) / 12 == pytest.approx(5.10, rel=0.06)
    assert sum(report.failed for report in ran) == 0
    assert all(400 < report.living < 600 for report in ran)


def test_short_lists_fail():
    """Four successors, half of the nodes dead: one in sixteen members has nobody left."""
    report = study.run(Options(nodes=1_000, lookups=5_000, successors=4, fail=0.5), clock)

    assert report.failed > 100


def test_all_virtual_nodes_of_a_process_fail_together():
    made = study.make(Options(nodes=50, vnodes=8, fail=0.3))

    of_process = [set(made.dead[made.ring.processes == process].tolist()) for process in range(50)]
    assert {len(each) for each in of_process} == {1}
    assert 0 < sum(True in each for each in of_process) < 50


def test_nobody_left_is_said():
    with pytest.raises(study.NobodyLeft, match="all of 2 nodes fail"):
        study.run(Options(nodes=2, fail=0.999999), clock)


def test_the_same_seed_gives_the_same_study():
    """By whichever engine; another seed gives another one."""
    options = {"nodes": 500, "lookups": 3_000, "successors": 3, "fail": 0.2, "vnodes": 2}
    first, again, other = (study.run(Options(**options, seed=seed), clock) for seed in (1, 1, 2))

    assert first == again
    assert first.hops != other.hops
    if engine.fastest() is Engine.numba:
        compiled = study.run(Options(**options, engine=Engine.numba), clock)
        assert (compiled.hops, compiled.timeouts, compiled.failed) == (first.hops, first.timeouts, first.failed)


def test_each_purpose_has_a_chance_of_its_own():
    """What is looked up has nothing to do with who is there, or has failed."""
    drawn = {study._chance(Options(), purpose).random() for purpose in ("identifiers", "failures", "lookups")}

    assert len(drawn) == 3


def test_lookups_are_counted_whatever_the_blocks_are(monkeypatch):
    """Every one, those of the last block too; and they are told of as they are done."""
    monkeypatch.setattr(study, "AT_ONCE", 64)
    told = []

    report = study.run(Options(nodes=100, lookups=1_000), clock, told.append)

    assert sum(report.hops.distribution.values()) == sum(told) == 1_000
    assert len(told) == 16


def test_numba_that_is_missing_is_said(monkeypatch):
    monkeypatch.setattr("sim.static.report.find_spec", lambda _name: None)

    with pytest.raises(LocalProtocolError, match=r"pip install 'ringcast\[numba\]'"):
        engine.walker(Engine.numba)
    assert engine.fastest() is Engine.numpy
    assert engine.walker(Engine.numpy) is walking.walk


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
app.command()(static)


@pytest.mark.parametrize(
    ("text", "wanted"), [("1000", 1000), ("2^20", 2**20), ("2**10", 1024), ("1_000_000", 10**6), (7, 7), ("3^0", 1)]
)
def test_amounts_are_written_as_powers_too(text, wanted):
    assert amount(text) == wanted


@pytest.mark.parametrize("text", ["", "many", "2^", "-5", "1e6", "2^2^2", "1__0", "2^200"])
def test_what_is_no_amount_is_refused(text):
    with pytest.raises(typer.BadParameter, match="is no number such as"):
        amount(text)


def test_a_table_holds_the_mean_beside_what_is_expected():
    result = CliRunner().invoke(app, ["--nodes", "2^10", "--lookups", "500", "--engine", "numpy"])

    assert result.exit_code == 0
    lines = [line.strip(" │┃") for line in result.stdout.splitlines()]
    assert result.stderr == ""
    assert "1,024 nodes, seed 1; simulated (static ring)" in lines
    for wanted in ("half log2 N - 0.138", "lookups per second (numpy, 1 core)", "peak memory", "failed lookups"):
        assert any(line.startswith(wanted) for line in lines), wanted
    assert any(line.startswith("identifiers") and line.endswith("hashed") for line in lines)


@pytest.mark.parametrize(("columns", "longest"), [("40", 17), ("200", 40)])
def test_bars_are_as_long_as_there_is_room_for(columns, longest):
    """None is cut off: the longest of them takes what the numbers leave, and no more than 40 characters."""
    arguments = ["--nodes", "100", "--lookups", "500", "--engine", "numpy"]
    told = CliRunner().invoke(app, arguments, env={"COLUMNS": columns}).stdout

    bars = [line.count("█") for line in told.splitlines()]
    assert max(bars) == longest
    assert "…" not in told


def test_json_holds_everything():
    """The ring is that of the same addresses in the production code, so its figures are."""
    arguments = ["--nodes", "300", "--lookups", "2000", "--successors", "8", "--vnodes", "2", "--fail", "0.1"]

    told = json.loads(CliRunner().invoke(app, [*arguments, "--seed", "3", "--json"]).stdout)

    assert (told["options"]["nodes"], told["members"], told["options"]["seed"]) == (300, 600, 3)
    assert sum(told["hops"]["distribution"].values()) == 2000
    assert told["timeouts"]["mean"] > 0
    assert told["hops"]["p1"] <= told["hops"]["mean"] <= told["hops"]["p99"]
    assert told["expected_hops"] is None
    assert told["load_p1"] < 1 < told["load_p99"] <= told["load_most"]
    assert told["lookups_per_s"] > 0
    assert told["peak_mb"] > 10


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--nodes", "0"], "a ring has at least one node"),
        (["--nodes", "many"], "'many' is no number such as 1000 or 2^20"),
        (["--nodes", "2^27"], "are more than 2^26 members"),
        (["--nodes", "2^22", "--vnodes", "32"], "are more than 2^26 members"),
        (["--nodes", "2^25", "--identifiers", "hashed"], "there are addresses for 2^24 nodes"),
        (["--lookups", "0"], "between 1 and 10^12 keys can be looked up, not 0"),
        (["--fail", "1"], "nobody would be left to ask"),
        (["--fail", "-0.1"], "--fail"),
        (["--fail", "nan"], "--fail"),
        (["--nodes", "1", "--fail", "0.9999"], "nobody is left to ask"),
        (["--successors", "129"], "--successors"),
    ],
)
def test_what_cannot_be_is_refused(arguments, complaint):
    """Exit code 2, with the reason."""
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "300"})

    assert result.exit_code == 2
    assert complaint in result.output


def test_help_has_examples():
    assert "python -m sim static --nodes 2^24" in CliRunner().invoke(app, ["--help"]).stdout
