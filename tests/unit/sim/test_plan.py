"""What a seed draws."""

from __future__ import annotations

import msgspec
import pytest

from sim.plan import FAULTS, Plan, draw

PLANS = [draw(seed) for seed in range(300)]


def test_a_seed_draws_one_plan():
    """The same seed gives the same plan, and a plan survives its file."""
    assert draw(5) == PLANS[5]
    assert msgspec.json.decode(msgspec.json.encode(PLANS[5]), type=Plan) == PLANS[5]


def test_every_plan_has_faults_and_questions():
    """At least five faults, in the order of their moments, and something that clients ask."""
    for plan in PLANS:
        assert plan.faults >= 5
        assert [action.at for action in plan.actions] == sorted(action.at for action in plan.actions)
        assert any(action.kind not in FAULTS for action in plan.actions)


def test_plans_differ_in_everything():
    """Styles, sizes from one node up, lists, virtual nodes, links and clocks: the swarm covers them."""
    assert {plan.style for plan in PLANS} == {"stop", "rough", "split"}
    assert {1, 2, 3} <= {plan.start for plan in PLANS}
    assert {plan.vnodes for plan in PLANS} == {1, 2, 3}
    assert len({plan.successors for plan in PLANS}) == 7
    assert any(plan.king for plan in PLANS)
    assert any(plan.drift for plan in PLANS)
    assert {action.kind for plan in PLANS for action in plan.actions} >= FAULTS


def test_where_processes_only_stop_nobody_is_taken_for_dead():
    """No frame is lost, no clock drifts, and no round trip is as long as the shortest time-out."""
    for plan in PLANS:
        if plan.style == "stop":
            assert (plan.loss, plan.drift, plan.king) == (0.0, 0.0, False)
            assert 2 * plan.latency_s[1] < 0.25


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("bits", 0),
        ("bits", 1),
        ("bits", 65),
        ("start", 0),
        ("start", 41),
        ("successors", 0),
        ("replicas", 17),
        ("vnodes", 0),
        ("vnodes", 64),
        ("stabilize_s", 1e-9),
        ("repair_s", 0.0),
        ("latency_s", [-1.0, 0.1]),
        ("loss", 2.0),
        ("duplication", -0.1),
        ("drift", 5.0),
        ("seed", -1),
        ("actions", [{"at": -5.0, "kind": "join", "number": 1}]),
        ("actions", [{"at": 1e300, "kind": "join", "number": 1}]),
        ("actions", [{"at": 1.0, "kind": "join", "number": 1, "times": 10**9}]),
        ("actions", [{"at": 1.0, "kind": "pause", "number": 1, "seconds": 1e9}]),
        ("actions", [{"at": 1.0, "kind": "get", "number": 1}] * 100_000),
    ],
)
def test_a_plan_of_what_cannot_be_carried_out_is_no_plan(field, value):
    """A file whose values are out of their limits is refused, with the place: it would crash, or never end."""
    absurd = {**msgspec.to_builtins(PLANS[3]), field: value}

    with pytest.raises(msgspec.ValidationError, match=rf"\$\.{field}"):
        msgspec.json.decode(msgspec.json.encode(absurd), type=Plan)


def test_every_plan_that_is_drawn_keeps_the_limits():
    """What --save leaves can be read again, whatever the seed."""
    for plan in PLANS:
        assert msgspec.json.decode(msgspec.json.encode(plan), type=Plan) == plan
