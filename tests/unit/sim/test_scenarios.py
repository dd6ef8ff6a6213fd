"""Scenarios: the counterexamples of Zave's paper and what small rings go through; the language they are told in."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sim.cli_app import app
from sim.cli_scenario import line_of
from sim.scenario import RingBroken, Scenario, ScenarioError, parse, rewritten

TESTDATA = Path(__file__).parents[2] / "testdata"
SCENARIOS = sorted(TESTDATA.glob("*.txt"))
NAMED = ["ordered_merges", "appendage_behind_an_appendage", "valid_successor_list", "appendage_of_the_dead"]
NAMED += [
    "at_least_one_ring",
    "ordered_ring_of_3",
    "ordered_ring_of_5",
    "at_most_one_ring_of_2",
    "at_most_one_ring_of_4",
]


def run(*arguments):
    return CliRunner().invoke(app, ["scenario", *map(str, arguments)])


@pytest.mark.parametrize("file", SCENARIOS, ids=lambda file: file.stem)
def test_a_scenario_goes_as_it_is_told(file):
    """The invariants hold after every line, each block ends as expected, and the ring is ideal at the end."""
    text = file.read_text()

    seen, problem = rewritten(text)

    assert problem == ""
    assert seen == text, f"python -m sim scenario --rewrite {file} writes down what is seen"


def test_all_named_counterexamples_are_told():
    """There is a scenario for each of the seven invariants that the published protocol was claimed to have."""
    assert {file.stem for file in SCENARIOS} >= set(NAMED)


def test_blocks_are_commands_and_what_is_expected_then():
    """`----` ends the commands of a block, an empty line the expectation; comments and empty lines say nothing."""
    text = "# a ring\nring 6 12\n\n6 stabilizes # first\n----\n6: 12\n12: 6\n\n# then\nrounds\n----\n"

    blocks = parse(text)

    assert [block.commands for block in blocks] == [((2, "ring 6 12"), (4, "6 stabilizes")), ((10, "rounds"),)]
    assert [block.expected for block in blocks] == [("6: 12", "12: 6"), ()]


@pytest.mark.parametrize(
    "command",
    [
        "6 dances",
        "6 hears 12",
        "6 hears 12 Notify",
        "7 stabilizes",
        "6 gives up 12",
        "6 wakes",
        "lists two",
        "lists 0",
        "lists 99999999999",
    ],
)
def test_a_line_that_makes_no_sense_is_an_error(command):
    """What is no command, or cannot happen now, is named with its line."""
    scenario = Scenario()
    scenario.do("ring 6 12")

    with pytest.raises(ScenarioError, match=f"'{command}' cannot be carried out"):
        scenario.do(command)


def test_a_call_to_a_live_process_does_not_time_out():
    """Failure detection is perfect here, as the proof has it."""
    scenario = Scenario()
    scenario.do("ring 6 12")
    scenario.do("6 stabilizes")

    with pytest.raises(AssertionError, match="12 runs, so no call to it times out"):
        scenario.do("6 gives up 12")


@pytest.mark.parametrize("command", ["6 gives up 12", "12 hears 6 again", "lists 0"])
@pytest.mark.parametrize("option", [[], ["--rewrite"]], ids=["played", "rewritten"])
def test_a_line_that_asks_for_what_never_happens_is_one_line_of_error(tmp_path, command, option):
    """`python -m sim scenario` names the line, and exits with 1."""
    file = tmp_path / "scenario.txt"
    file.write_text(f"ring 6 12\n6 stabilizes\n{command}\n")

    result = run(file, *option)

    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    assert f"error: {file}: line " in result.output


def test_a_call_to_a_process_that_failed_times_out_though_another_runs_there():
    """Who is started under the same address is somebody else, and does not answer for the one that failed."""
    scenario = Scenario()
    for command in ("ring 2 6 12", "6 stabilizes", "12 fails", "12 joins via 2", "6 gives up 12"):
        scenario.do(command)

    assert scenario.on_the_way() == ["12->2 NextHop", "6->12 GetNeighbours"]

    scenario.do("12 hears 6")
    scenario.do("6 hears 12")

    assert "6: 2, after 2" in scenario.shown() or "6: 2 (all), after 2" in scenario.shown()


def test_a_broken_ring_is_told_at_once():
    """More failures than lists have entries leave a member without a successor, which the line itself tells."""
    scenario = Scenario()
    scenario.do("ring 2 5 8 12")
    scenario.do("5 fails")

    with pytest.raises(RingBroken, match="2 at 2 has no live successor"):
        scenario.do("8 fails")


def test_a_cast_can_arrive_twice():
    """A notification that is heard `again` stays on its way."""
    scenario = Scenario()
    for command in ("ring 6 12", "10 joins via 6", "10 finishes", "10 stabilizes", "12 hears 10", "10 hears 12"):
        scenario.do(command)
    for command in ("6 stabilizes", "12 hears 6", "6 hears 12", "10 hears 6", "6 hears 10", "10 hears 6 Notify again"):
        scenario.do(command)

    assert "6->10 Notify" in scenario.on_the_way()


def test_a_scenario_is_printed_a_line_a_step():
    """`python -m sim scenario` prints every command and what it changed."""
    result = run(TESTDATA / "at_least_one_ring.txt")

    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert lines[0].split() == [
        "ring",
        "6",
        "12",
        "6:",
        "12",
        "(all),",
        "after",
        "12;",
        "12:",
        "6",
        "(all),",
        "after",
        "6",
    ]
    assert len(lines) == sum(len(block.commands) for block in parse((TESTDATA / "at_least_one_ring.txt").read_text()))


def test_json_has_the_whole_ring_after_each_step():
    """With the line of the file that the step stands in."""
    result = run(TESTDATA / "at_least_one_ring.txt", "--json")

    steps = json.loads(result.stdout)
    ring = ["6: 12 (all), after 12", "10: joining", "12: 6 (all), after 6", "on the way: 10->6 NextHop"]
    assert result.exit_code == 0
    assert steps[1] == {"line": 4, "command": "10 joins via 6", "ring": ring}
    assert steps[-1]["ring"][0] == "ideal after 0 rounds"


def test_json_has_the_steps_up_to_the_one_that_fails(tmp_path):
    """What is wrong is told on standard error."""
    file = tmp_path / "mine.txt"
    file.write_text("ring 6 12\n6 dances\n")

    result = run(file, "--json")

    assert result.exit_code == 1
    assert [step["command"] for step in json.loads(result.stdout)] == ["ring 6 12"]
    assert result.stderr.startswith(f"error: {file}: line 2: '6 dances' cannot be carried out")


def test_what_is_rewritten_is_not_printed(tmp_path):
    """--json beside --rewrite is refused, and the file stays as it is."""
    file = tmp_path / "mine.txt"
    file.write_text("ring 6 12\n")

    result = run(file, "--rewrite", "--json")

    assert result.exit_code == 2
    assert "nothing is printed with --rewrite" in result.output
    assert file.read_text() == "ring 6 12\n"


def test_a_long_step_goes_on_below_itself():
    """In a terminal; elsewhere every step is one line."""
    changes = ["6: 12 (all), after 12", "12: 6 (all), after 6"]

    assert line_of("ring 6 12", 10, changes, 0) == "ring 6 12   6: 12 (all), after 12; 12: 6 (all), after 6"
    assert line_of("ring 6 12", 10, changes, 40) == (
        "ring 6 12   6: 12 (all), after 12; 12: 6\n            (all), after 6"
    )
    assert line_of("6 fails", 10, [], 40) == "6 fails"


def test_a_scenario_that_ends_otherwise_is_told_and_can_be_rewritten(tmp_path):
    """An expectation that does not hold is exit code 1; --rewrite writes down what is seen."""
    file = tmp_path / "mine.txt"
    file.write_text("ring 6 12\n----\n6: nobody\n")

    before = run(file)
    rewrite = run(file, "--rewrite")
    after = run(file)

    assert (before.exit_code, rewrite.exit_code, after.exit_code) == (1, 0, 0)
    assert "after 'ring 6 12' the ring is not as expected" in before.output
    assert file.read_text() == "ring 6 12\n----\n6: 12 (all), after 12\n12: 6 (all), after 6\n"


def test_a_scenario_that_breaks_the_ring_names_the_line(tmp_path):
    """What broke, and in which line of the file."""
    file = tmp_path / "mine.txt"
    file.write_text("ring 2 5 8 12\n5 fails\n8 fails\n----\n")

    result = run(file)

    assert result.exit_code == 1
    assert "line 3: " in result.output
    assert "has no live successor" in result.output


@pytest.mark.parametrize("more", [[], ["--json"], ["--rewrite"]])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no commands in {}"),
        ("# nothing\n\n", "no commands in {}"),
        ("----\n2: 5, after 5\n", "no commands in {}"),
        ("# of the build\n\n[metadata]\nname = ringcast\n", "{} is no scenario: line 3 is no command"),
    ],
)
def test_what_is_no_scenario_is_a_matter_of_usage(tmp_path, text, said, more):
    """Exit code 2, as of a plan or a recording that is none; the file stays as it is."""
    file = tmp_path / "other.txt"
    file.write_text(text)

    result = run(file, *more)

    assert (result.exit_code, result.stdout) == (2, "")
    assert said.format(file) in " ".join(result.stderr.split())
    assert file.read_text() == text


def test_every_example_of_the_help_names_a_file_that_there_is():
    """So that each can be tried."""
    examples = re.findall(r"python -m sim scenario (\S+)", CliRunner().invoke(app, ["scenario", "--help"]).output)

    assert len(examples) == 3
    assert all((Path(__file__).parents[3] / example).exists() for example in examples)
