"""Shrinking: a plan that fails becomes the smallest one that still does."""

from __future__ import annotations

from sim.plan import Plan, draw
from sim.shrink import TRIES, shrink


def test_only_what_makes_it_fail_stays():
    """Of a plan that fails for one crash after one put, those two actions stay, and nothing else that is not needed."""
    plan = next(
        plan
        for plan in map(draw, range(1000))
        if plan.loss and plan.vnodes > 1 and {"crash", "put"} <= {action.kind for action in plan.actions}
    )

    def fails(tried: Plan) -> bool:
        return {"crash", "put"} <= {action.kind for action in tried.actions}

    smaller = shrink(plan, fails)

    assert sorted(action.kind for action in smaller.actions) == ["crash", "put"]
    assert all(action.times == 1 for action in smaller.actions)
    assert (smaller.loss, smaller.vnodes, smaller.start, smaller.least) == (0.0, 1, 1, False)


def test_what_is_needed_is_kept():
    """A plan that fails only as it is stays as it is."""
    plan = draw(7)

    assert shrink(plan, lambda tried: tried == plan) == plan


def test_shrinking_ends():
    """It takes a bounded number of runs."""
    tried = []

    def fails(plan: Plan) -> bool:
        tried.append(plan)
        return len(tried) % 3 == 0

    shrink(draw(8), fails)

    assert len(tried) <= TRIES
