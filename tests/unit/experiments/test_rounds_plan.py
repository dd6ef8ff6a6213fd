"""The rounds that try to break a ring: within their budget, and hard enough."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from experiments.rings.plan import EVENTS, FEWEST, MOST, SHORT_STOP_S, Plan, draw

plans = st.builds(
    lambda seed, number, nodes, successors: (draw(seed, number, nodes, successors, replicas=3), successors),
    st.integers(0, 10**9),
    st.integers(1, 10**6),
    st.integers(FEWEST, MOST),
    st.sampled_from([2, 4, 8]),
)


def harmed(plan: Plan) -> set[int]:
    """The nodes that fail, leave, or stand still for long enough to be missed."""
    return {
        event.node
        for event in plan.events
        if event.kind in ("kill", "leave") or (event.kind == "stop" and event.lasts_s > SHORT_STOP_S)
    }


@given(plans)
def test_a_round_stays_within_its_budget(drawn):
    """Fewer nodes are harmed than a list has entries, and one is left in peace, which every joiner knows."""
    plan, successors = drawn
    victims = harmed(plan)

    spared = set(range(plan.nodes)) - victims
    for event in plan.events:
        if event.kind == "join":
            spared &= set(event.via)

    assert len(victims) < min(successors, plan.nodes)
    assert spared


@given(plans)
def test_a_round_is_one_that_can_be_carried_out(drawn):
    """3 to 8 events in order; nobody who is gone is killed, stopped or sent away; never more than 12 nodes."""
    plan, _ = drawn
    low, high = EVENTS
    there = set(range(plan.nodes))

    for event in plan.events:
        if event.kind == "join":
            assert event.node == plan.nodes + sum(one.kind == "join" for one in plan.events[: plan.events.index(event)])
            assert set(event.via) <= there
            there.add(event.node)
        else:
            assert event.node in there
        if event.kind in ("kill", "leave"):
            there.remove(event.node)
        assert 1 <= len(there) <= MOST

    assert low <= len(plan.events) <= high
    assert [event.at_s for event in plan.events] == sorted(event.at_s for event in plan.events)
    assert len(there) == plan.after


def test_the_same_seed_draws_the_same_round():
    """A failure can be played again."""
    assert draw(3, 7, 9, 8, replicas=3) == draw(3, 7, 9, 8, replicas=3)
    assert draw(3, 7, 9, 8, replicas=3) != draw(4, 7, 9, 8, replicas=3)


def test_rounds_are_not_harmless():
    """Of 500 rounds on 9 nodes many spend their whole budget, act at one instant, or kill what has just joined."""
    rounds = [draw(1, number, 9, 4, replicas=3) for number in range(500)]
    kinds = Counter(event.kind for plan in rounds for event in plan.events)

    assert min(kinds[kind] for kind in ("join", "kill", "leave", "stop")) > 150
    assert sum(len(harmed(plan)) == 3 for plan in rounds) > 150
    assert sum(len({event.at_s for event in plan.events}) < len(plan.events) for plan in rounds) > 150
    assert sum(any(event.kind == "kill" and event.node >= plan.nodes for event in plan.events) for plan in rounds) > 20
    assert sum(plan.count("kill") > 2 for plan in rounds) > 20
