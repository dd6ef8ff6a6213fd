"""Which cells a plan makes, and what is told of one that makes none."""

from __future__ import annotations

import re

import pytest

from experiments.sweep.cells import Fault
from experiments.sweep.plan_file import BadPlan
from tests.unit.experiments.sweep.planned import cells, names

KILLED = """
    [[faults.killed]]
    kind = "kill"
    at_s = 2
    target = "node:*"
"""


def test_every_combination_is_a_cell_with_a_name_of_its_own() -> None:
    """The name tells what is not as usual; the seed always."""
    found = names(
        """
        [[sweep]]
        where = ["local", "sim"]
        nodes = "4..8"
        mode = ["iterative", "recursive"]
        lookups = 10
        seeds = "1..2"
        """
    )

    assert len(found) == len(set(found)) == 16
    assert found[:3] == ["local-n0004-seed1", "local-n0004-seed2", "local-n0008-seed1"]
    assert found[-1] == "sim-n0008-recursive-seed2"


def test_publishers_and_subscribers_go_together() -> None:
    """The first with the first; as many subscribe as publish where nothing else is said, one number goes with each."""
    pairs = [
        [(cell.publishers, cell.subscribers) for cell in cells(f'[[sweep]]\ndissemination = "direct"\n{clients}')]
        for clients in (
            "publishers = [1, 4]",
            "publishers = [8, 1]\nsubscribers = [1, 8]",
            "publishers = [2, 3]\nsubscribers = 1",
        )
    ]

    assert pairs == [[(1, 1), (4, 4)], [(8, 1), (1, 8)], [(2, 1), (3, 1)]]


def test_a_fault_plan_is_spread_over_time() -> None:
    """One entry may come again and again; `none` is a cell without."""
    plain, killed = cells(
        """
        [[sweep]]
        lookups = 100
        lookup_rate = 10
        faults = ["none", "killed"]

        [[faults.killed]]
        kind = "kill"
        at_s = 2
        every_s = 2.5
        until_s = 7
        target = "node:*"

        [[faults.killed]]
        kind = "stop"
        at_s = 3
        target = "node:1"
        """
    )

    assert (plain.faults, plain.fault_plan) == ((), None)
    assert (killed.fault_plan, killed.name) == ("killed", "local-n0008-killed-seed1")
    assert [(fault.kind, fault.at_s) for fault in killed.faults] == [
        ("kill", 2),
        ("stop", 3),
        ("kill", 4.5),
        ("kill", 7),
    ]
    assert killed.faults[1] == Fault(kind="stop", at_s=3, target="node:1")


def test_a_figure_of_the_papers_is_a_cell() -> None:
    """It has rings and seeds of its own."""
    (cell,) = cells('[[sweep]]\nwhere = "sim"\nfigure = "load"\nquick = true')

    assert (cell.name, cell.figure, cell.quick) == ("sim-load-quick", "load", True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[sweep]\n", "p.toml: expected TOML; seen: Expected ']]' at the end of an array declaration"),
        ("sweep = 4", "p.toml: sweep: expected array, got int; seen 4"),
        ("", "p.toml: top level: expected a key 'sweep'; seen none"),
        ("[[sweep]]\nnodez = 4", "p.toml: sweep[0]: there is no key 'nodez'; expected 'nodes'?"),
        ("[[sweep]]\nrate = 'fast'", "p.toml: sweep[0].rate: expected float, got str; seen 'fast'"),
        (
            "[[sweep]]\nwhere = 'moon'",
            "p.toml: sweep[0].where: expected one of local, mininet, sim, static; seen 'moon'",
        ),
        (
            "[[sweep]]\nwhere = 'locl'",
            "p.toml: sweep[0].where: expected one of local, mininet, sim, static (perhaps 'local'); seen 'locl'",
        ),
        (
            "[[sweep]]\nmode = ['iterative', 'recursiv']",
            "p.toml: sweep[0].mode[1]: expected one of iterative, recursive (perhaps 'recursive'); seen 'recursiv'",
        ),
        (
            "[[sweep]]\ndissemination = 'x'",
            "p.toml: sweep[0].dissemination: expected one of direct, brokered; seen 'x'",
        ),
        ("[[sweep]]\n[[sweep]]\nnodes = '5..30'", "p.toml: sweep[1].nodes: expected powers of two at both ends"),
        ("[[sweep]]\nnodes = 0", "p.toml: sweep[0].nodes: expected numbers from 1 to 67,108,864; seen 0"),
        ("[[sweep]]\nlookups = 'many'", "p.toml: sweep[0].lookups: expected a whole number"),
        ("[[sweep]]\nlookups = 5\nfaults = 'fire'", "p.toml: sweep[0].faults: expected one of none; seen 'fire'"),
        ("[[sweep]]\npublishers = 2", "p.toml: sweep[0].dissemination: expected publishers as well, or neither"),
        (
            "[[sweep]]\ndissemination = 'direct'\npublishers = [1, 2]\nsubscribers = [1, 2, 3]",
            "p.toml: sweep[0].subscribers: expected 2 numbers, as of publishers; seen 3",
        ),
        (
            f"[[sweep]]\nlookups = 100\nfaults = 'killed'\n{KILLED}",
            "p.toml: sweep[0].lookup_rate: expected a rate, so that faults have their time; seen none",
        ),
        (
            f"[[sweep]]\nlookups = 100\nlookup_rate = 50\nfaults = 'killed'\n{KILLED}",
            "p.toml: sweep[0].faults: expected faults within the 2 s that the workload takes; seen one of killed at 2",
        ),
        (
            "[[sweep]]\nfigure = 'load'",
            "p.toml: sweep[0].where: expected \"sim\", where figures are drawn; seen 'local'",
        ),
        (
            "[[sweep]]\nwhere = 'sim'\nfigure = 'load'\nnodes = 4",
            "p.toml: sweep[0].nodes: expected nothing beside figure",
        ),
        (
            "[[sweep]]\nlookups = 5\n[[sweep]]\nlookups = 6",
            "p.toml: sweep[1]: expected cells unlike any before; seen two named local-n0008-seed1",
        ),
    ],
)
def test_what_makes_no_cells_is_told_with_file_and_key(text: str, said: str) -> None:
    """And what was expected against what was seen."""
    with pytest.raises(BadPlan) as raised:
        cells(text)
    assert str(raised.value).startswith(said)


NAMES = "p.toml: faults: expected names of 1 to 64 characters of [A-Za-z0-9._-], the first of them not a dot; seen "


@pytest.mark.parametrize("name", ["x/../../victim", "..", ".hidden", "", "a b", "n\u00f6de", "x" * 65, "x\\n"])
def test_a_fault_plan_has_a_name_that_a_folder_may_have(name: str) -> None:
    """It becomes part of that of a cell."""
    with pytest.raises(BadPlan) as raised:
        cells(f'[[sweep]]\nlookups = 5\nfaults = "{name}"\n[[faults."{name}"]]\nkind = "heal"\nat_s = 0')
    assert str(raised.value).startswith(NAMES)


@pytest.mark.parametrize("name", ["x" * 64, "two-die", "v1.2_b"])
def test_other_fault_plans_have_the_name_that_they_are_given(name: str) -> None:
    """As before."""
    (found,) = names(f"[[sweep]]\nlookups = 5\nfaults = '{name}'\n[[faults.'{name}']]\nkind = 'heal'\nat_s = 0")

    assert found == f"local-n0008-{name}-seed1"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("latency = '../king'", "latency: expected one of constant, uniform, king, .*; seen '../king'"),
        ("figure = '../../etc/passwd'", "figure: expected one of path-length, .*; seen '../../etc/passwd'"),
        ("figure = ['load', 'nosuch']", "figure: expected one of path-length, .*, load, .*; seen 'nosuch'"),
    ],
)
def test_what_has_to_be_known_is_checked_when_the_plan_is_read(text: str, said: str) -> None:
    """A latency, a figure: with those that there are."""
    with pytest.raises(BadPlan, match=rf"^p.toml: sweep\[0\]\.{said}$"):
        cells(f"[[sweep]]\nwhere = 'sim'\n{text}")


def test_the_name_of_cells_without_faults_is_taken() -> None:
    """A fault plan that is called so would do nothing."""
    with pytest.raises(BadPlan, match="expected another name than 'none', which is a cell without faults"):
        cells("[[sweep]]\nlookups = 5\n[[faults.none]]\nkind = 'heal'\nat_s = 0")


@pytest.mark.parametrize(
    "key",
    ["where", "mode", "dissemination", "publishers", "subscribers", "topology", "faults", "figure", "nodes", "seeds"],
)
def test_a_list_of_nothing_makes_no_cells(key: str) -> None:
    """Of any key."""
    with pytest.raises(BadPlan) as raised:
        cells(f"[[sweep]]\n{key} = []")
    assert str(raised.value) == f"p.toml: sweep[0].{key}: expected array of length >= 1; seen []"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"[[sweep]]\nlookups = {'1' * 5000}", "p.toml: expected numbers below 2^63; seen one of thousands of digits"),
        (
            f"[[sweep]]\nlookups = '{'1' * 5000}'",
            f"p.toml: sweep[0].lookups: expected numbers below 2^63; seen '{'1' * 59}... (5,002 characters)",
        ),
        (
            f"[[sweep]]\nlookups = 0x{'f' * 5000}",
            "p.toml: sweep[0].lookups: expected numbers below 2^63; seen a number of 20,000 bits",
        ),
        (f"[[sweep]]\nmode = [0x{'f' * 5000}]", "p.toml: sweep[0].mode[0]: "),
        (f"sweep = {'[' * 5000}", "p.toml: expected a list of numbers or names; seen hundreds of lists in each other"),
        ("[[sweep]]\nnodes = '2^1000000'", "p.toml: sweep[0].nodes: expected exponents up to 63; seen '2^1000000'"),
        ("[[sweep]]\nnodes = '0^-1'", "p.toml: sweep[0].nodes: expected a whole number"),
        (
            "[[sweep]]\nseeds = '1..1000000000000'",
            "p.toml: sweep[0].seeds: expected at most 10,000 numbers; seen more in '1..1000000000000'",
        ),
        (
            "[[sweep]]\nrepeats = 1000000000000",
            "p.toml: sweep[0].repeats: expected int <= 1000; seen 1000000000000",
        ),
        (
            "[[sweep]]\nlookups = 5\nseeds = '1..10000'\nnodes = '2..1024'\nrepeats = 1000",
            "p.toml: sweep[0]: expected at most 10,000 cells; seen 100,000,000",
        ),
        ("[[sweep]]\nlookup_rate = inf", "p.toml: sweep[0].lookup_rate: expected a finite number; seen inf"),
        ("[[sweep]]\nrate = nan", "p.toml: sweep[0].rate: expected a finite number; seen nan"),
        ("[[sweep]]\nrate = 1e999", "p.toml: sweep[0].rate: expected a finite number; seen inf"),
    ],
)
def test_what_is_too_large_for_a_plan_is_told_at_once(text: str, said: str) -> None:
    """In one line that is never long."""
    with pytest.raises(BadPlan) as raised:
        cells(text)
    assert str(raised.value).startswith(said)
    assert len(str(raised.value)) < 200


@pytest.mark.parametrize(
    ("times", "said"),
    [
        (
            "every_s = 1e-9\nuntil_s = 5",
            "p.toml: sweep[0].faults: expected at most 1,000 faults in x; seen 5,000,000,001",
        ),
        (
            "every_s = 1e-300\nuntil_s = 1e300",
            "p.toml: sweep[0].faults: expected at most 1,000 faults in x; seen 1,000,",
        ),
        ("every_s = 1\nuntil_s = inf", "p.toml: faults.x[0].until_s: expected a finite number; seen inf"),
        ("every_s = nan\nuntil_s = 5", "p.toml: faults.x[0].every_s: expected a finite number; seen nan"),
    ],
)
def test_a_fault_comes_again_so_often_at_most(times: str, said: str) -> None:
    """They are counted before they are listed."""
    with pytest.raises(BadPlan) as raised:
        cells(f"[[sweep]]\nlookups = 5\nfaults = 'x'\n[[faults.x]]\nkind = 'heal'\nat_s = 0\n{times}")
    assert str(raised.value).startswith(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("seeds = '9223372036854775808'", "seeds: expected numbers below 2^63; seen '9223372036854775808'"),
        ("payload_bytes = 99999999999", "payload_bytes: expected numbers from 0 to 524,288; seen 99999999999"),
        ("successors = 9999999", "successors: expected numbers from 0 to 128; seen 9999999"),
        ("vnodes = 129", "vnodes: expected numbers from 1 to 128; seen 129"),
        ("lookups = '10^13'", "lookups: expected a number from 0 to 1,000,000,000,000; seen '10^13'"),
        ("lookups = -1", "lookups: expected a number from 0 to 1,000,000,000,000; seen -1"),
        (
            "dissemination = 'direct'\npublishers = 1000000000000",
            "publishers: expected numbers from 1 to 512; seen 1000000000000",
        ),
        ("topics = 513", "topics: expected int <= 512; seen 513"),
        ("samples = 1000000000000", "samples: expected int <= 10000000; seen 1000000000000"),
        ("rate = 1e-300", "rate: expected float >= 0.001; seen 1e-300"),
        ("lookup_rate = 1e9", "lookup_rate: expected float <= 100000.0; seen 1000000000.0"),
        ("zones = 17", "zones: expected int <= 16; seen 17"),
        ("replicas = 10", "replicas: expected int <= 9; seen 10"),
        ("rings = 1000000000000", "rings: expected int <= 262144; seen 1000000000000"),
        (f"topology = '{'x' * 65}'", f"topology: expected str of length <= 64; seen '{'x' * 59}... (67 characters)"),
    ],
)
def test_numbers_go_as_far_as_the_programs_do(text: str, said: str) -> None:
    """Which run the cells."""
    with pytest.raises(BadPlan) as raised:
        cells(f"[[sweep]]\n{text}")
    assert str(raised.value) == f"p.toml: sweep[0].{said}"


@pytest.mark.parametrize(
    ("kind", "target", "said"),
    [
        ("kill", "", "who is hit, like node:3, node:*, broker:1, primary, host:3, or share:0.3 from 0 to 1; seen ''"),
        ("kill", "share:nan", "who is hit, like "),
        ("stop", "share:9", "who is hit, like "),
        ("kill", "share:", "who is hit, like "),
        ("cont", "node:-1", "who is hit, like "),
        ("kill", "n\u00f6de:1", "who is hit, like "),
        ("kill", "node:\u00b2", "who is hit, like "),
        ("kill", "node:", "who is hit, like "),
        ("kill", "0.3", "who is hit, like "),
        ("split", "nan", "a share of the nodes between 0 and 1, like 0.4; seen 'nan'"),
        ("split", "1", "a share of the nodes between 0 and 1, like 0.4; seen '1'"),
        ("split", "half", "a share of the nodes between 0 and 1, like 0.4; seen 'half'"),
        ("link_down", "", "a link or a host, like link:s1-h3 or host:3; seen ''"),
        ("link_up", "s1-h3", "a link or a host, like link:s1-h3 or host:3; seen 's1-h3'"),
    ],
)
def test_a_target_that_nothing_can_be_is_refused(kind: str, target: str, said: str) -> None:
    """With the fault that names it."""
    with pytest.raises(BadPlan) as raised:
        cells(
            f"[[sweep]]\nlookups = 5\nfaults = 'x'\n[[faults.x]]\nkind = 'heal'\nat_s = 0\n"
            f"[[faults.x]]\nkind = '{kind}'\nat_s = 0\ntarget = '{target}'"
        )
    assert str(raised.value).startswith(f"p.toml: faults.x[1].target: expected {said}")


@pytest.mark.parametrize(
    ("times", "said"),
    [
        ("every_s = 1", "until_s: expected every_s with until_s; seen one without the other"),
        ("until_s = 1", "every_s: expected every_s with until_s; seen one without the other"),
        ("every_s = 1\nuntil_s = 1", "until_s: expected at_s, 2, or later; seen 1"),
    ],
)
def test_a_fault_that_comes_again_says_until_when(times: str, said: str) -> None:
    """And how often."""
    with pytest.raises(BadPlan) as raised:
        cells(f"[[sweep]]\nlookups = 5\nfaults = 'x'\n[[faults.x]]\nkind = 'heal'\nat_s = 2\n{times}")
    assert str(raised.value) == f"p.toml: faults.x[0].{said}"


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("kind = 'kill'\nat_s = 'soon'", "[1].at_s: expected float, got str; seen 'soon'"),
        ("kind = 'kill'\nat_s = -1", "[1].at_s: expected float >= 0.0; seen -1"),
        ("kind = 'kil'\nat_s = 1", "[1].kind: expected one of kill, stop, .*, heal \\(perhaps 'kill'\\); seen 'kil'"),
        ("kind = 'kill'\nat_s = inf", "[1].at_s: expected a finite number; seen inf"),
        ("kind = 'kill'", "[1]: expected a key 'at_s'; seen none"),
        ("kind = 'kill'\nat_s = 1\ntargt = 'node:1'", "[1]: there is no key 'targt'; expected 'target'?"),
    ],
)
@pytest.mark.parametrize(("name", "told"), [("two-die", "two-die"), ("'v1.2'", "'v1.2'")])
def test_a_wrong_fault_is_told_with_the_name_of_its_plan(name: str, told: str, entry: str, said: str) -> None:
    """And with what was seen."""
    good = "kind = 'heal'\nat_s = 0"

    with pytest.raises(BadPlan) as raised:
        cells(f"[[sweep]]\n[[faults.good]]\n{good}\n[[faults.{name}]]\n{good}\n[[faults.{name}]]\n{entry}")
    assert re.fullmatch(re.escape(f"p.toml: faults.{told}") + _pattern(said), str(raised.value))


def _pattern(said: str) -> str:
    return said.replace("[", r"\[").replace("]", r"\]").replace("?", r"\?")
