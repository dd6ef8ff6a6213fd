"""What a seed draws."""

from __future__ import annotations

import msgspec

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
