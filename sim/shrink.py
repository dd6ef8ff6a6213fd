"""A plan that fails, made as small as it goes while it fails the same way (Zeller and Hildebrandt 2002, ddmin)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec.structs import replace

from sim.plan import Action, Plan

TRIES = 400
"""Runs that shrinking may take."""

SIMPLER: tuple[dict[str, Any], ...] = (
    {"least": False},
    {"king": False},
    {"loss": 0.0},
    {"duplication": 0.0},
    {"drift": 0.0},
    {"vnodes": 1},
    {"together": False},
)
"""What a plan is tried with instead of what it has."""


def shrink(plan: Plan, fails: Callable[[Plan], bool]) -> Plan:
    """The smallest plan found that still `fails`; the plan itself must."""
    tries = 0

    def still(smaller: Plan) -> bool:
        nonlocal tries
        tries += 1
        return tries <= TRIES and fails(smaller)

    for simpler in SIMPLER:
        if (smaller := replace(plan, **simpler)) != plan and still(smaller):
            plan = smaller
    plan = replace(plan, actions=_fewest(plan, still))
    for position, action in enumerate(plan.actions):
        if action.times > 1:
            actions = (*plan.actions[:position], replace(action, times=1), *plan.actions[position + 1 :])
            if still(smaller := replace(plan, actions=actions)):
                plan = smaller
    for start in range(1, plan.start):
        if still(smaller := replace(plan, start=start)):
            return smaller
    return plan


def _fewest(plan: Plan, still: Callable[[Plan], bool]) -> tuple[Action, ...]:
    """The actions that are needed: ever smaller pieces are left out, for as long as that changes nothing."""
    actions = plan.actions
    size = max(1, len(actions) // 2)
    while actions:
        for fewer in _without(actions, size):
            if still(replace(plan, actions=fewer)):
                actions = fewer
                break
        else:
            if size == 1:
                break
            size = max(1, size // 2)
        size = min(size, max(1, len(actions)))
    return actions


def _without(actions: tuple[Action, ...], size: int) -> Iterator[tuple[Action, ...]]:
    for at in range(0, len(actions), size):
        yield actions[:at] + actions[at + size :]
