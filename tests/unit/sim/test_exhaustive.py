"""Every schedule of a small ring keeps it whole; and the walk finds what is not so."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from chord import ring_state
from chord.settings import Settings
from sim.automaton import Automaton
from sim.by_hand import BITS, NumberedSpace, Process
from sim.cli_app import app
from sim.exhaustive import Walk
from sim.scenario import RingBroken, Scenario
from sim.situations import LIST, Situation, situations
from sim.standing import plain
from sim.telling import told

SETTINGS = Settings(successors=LIST, failures=0, space=NumberedSpace(BITS))
AT_MOST = 1_000_000
ONE_JOINS_TWO = Situation((2, 8), (5,), 1, True, 1, False)


@pytest.mark.parametrize("situation", situations(4, whole=False), ids=str)
def test_no_schedule_breaks_a_small_ring(situation):
    """Every order of messages, joins, failures and stabilizations keeps the invariants, and leads to the ideal ring."""
    walked = Walk(situation).run(AT_MOST)

    assert walked.wrong == [], "\n".join(told(situation, walked.schedule))
    assert walked.complete, f"{walked.states} states were not all; a variable that counts turns makes each turn a state"
    assert walked.healed > 0


def test_a_walk_is_the_same_every_time():
    """Nothing but the situation decides what is walked."""
    first, second = Walk(ONE_JOINS_TWO).run(AT_MOST), Walk(ONE_JOINS_TWO).run(AT_MOST)

    assert (first.states, first.transitions) == (second.states, second.transitions)


def copies_successor_only(state, answer):
    """Join as it was published in 2001: of its predecessor's list the joiner takes the first entry."""
    return replace(joined(state, answer), successors=joined(state, answer).successors[:1], whole=False)


joined = ring_state.joined


def test_a_defect_is_found_and_told_as_a_scenario_that_shows_it(monkeypatch):
    """A walk stops at the first state that must not be; its schedule is a scenario that ends there."""
    monkeypatch.setattr(ring_state, "joined", copies_successor_only)

    walked = Walk(ONE_JOINS_TWO).run(AT_MOST)
    commands = told(ONE_JOINS_TWO, walked.schedule)

    assert any("has no live successor" in fault for fault in walked.wrong)
    scenario = Scenario()
    for command in commands[:-1]:
        scenario.do(command)
    with pytest.raises(RingBroken, match="has no live successor"):
        scenario.do(commands[-1])


def test_the_command_prints_the_scenario_that_breaks_the_ring(monkeypatch):
    """Exit code 1, and what to run to see it."""
    monkeypatch.setattr(ring_state, "joined", copies_successor_only)

    result = CliRunner().invoke(app, ["exhaust", "--nodes", "3"])

    assert result.exit_code == 1
    assert "\n8 fails\n" in result.output


def test_the_command_prints_how_many_states_there_are():
    """`python -m sim exhaust --json` prints a row for each situation."""
    result = CliRunner().invoke(app, ["exhaust", "--nodes", "2", "--json"])

    assert result.exit_code == 0
    rows = json.loads(result.output)
    assert [row["nodes"] for row in rows] == [2, 2]
    assert all(row["complete"] and row["states"] > 1000 and row["wrong"] == [] for row in rows)


def test_a_walk_that_is_left_says_so():
    """A walk that would see more states than allowed is not complete."""
    walked = Walk(ONE_JOINS_TWO).run(100)

    assert not walked.complete
    assert walked.states >= 100


# Processes as tables


def test_a_state_that_is_needed_again_is_rebuilt_as_it_was(monkeypatch):
    """A process rebuilt from its inputs goes on as the one that was kept."""
    results = []
    for kept in (0, 4000):
        monkeypatch.setattr("sim.automaton.PROCESSES_KEPT", kept)
        automaton = Automaton(SETTINGS)
        ring = tuple(automaton.me(address) for address in ("2", "8"))
        state = automaton.begin("8", ring)
        asked, sent = automaton.happen(state, ("stabilize",))
        again, sent_again = automaton.happen(asked, ("stabilize",))
        results.append((asked, sent, again, sent_again, len(automaton.states)))

    assert results[0] == results[1]


def test_equal_histories_have_equal_fingerprints():
    """Two processes to which the same happened compare equal; one that asked somebody compares to none that did not."""
    ring = [Process(SETTINGS, address).member.me for address in ("2", "8")]
    processes = [Process(SETTINGS, "2") for _ in range(3)]
    for process in processes:
        process.settle(ring)
    for process in processes[:2]:
        process.stabilize()

    prints = [process.fingerprint() for process in processes]

    assert prints[0] == prints[1] != prints[2]


def test_what_cannot_be_compared_is_refused():
    """An object that an operation holds and nobody knows could hide a difference between two states."""
    with pytest.raises(TypeError, match="nobody knows how to compare a Situation"):
        plain(ONE_JOINS_TWO)
