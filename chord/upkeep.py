"""What goes on at a member for as long as it lives: stabilizing, refreshing fingers, repairing."""

from __future__ import annotations

from collections.abc import Callable

from chord.copies import lapse
from chord.effects import Operation, sleep, spawn
from chord.errors import RingcastError
from chord.maintenance import fix_finger, reattach, stabilize, watch_predecessor
from chord.member import Member
from chord.repair import repair


def keep(member: Member, rejoin: Callable[[], Operation[None]]) -> Operation[None]:
    """Start all of it. `rejoin` is what a member does that has lost every successor."""
    yield from spawn(_stabilize_for_ever(member, rejoin))
    yield from spawn(_fix_fingers_for_ever(member))
    yield from spawn(_repair_for_ever(member))


def _stabilize_for_ever(member: Member, rejoin: Callable[[], Operation[None]]) -> Operation[None]:
    changed = True
    while not member.leaving:
        # News of a change travels one member a stabilization, so a member that has some does not wait for long.
        pause_s = member.settings.stabilize_s / (4 if changed else 1)
        yield from sleep(pause_s * member.kernel.rng.uniform(0.75, 1.0))
        before = member.state
        yield from stabilize(member)
        changed = member.state != before
        yield from watch_predecessor(member)
        if member.active and member.state.isolated and not (yield from reattach(member)):
            yield from rejoin()


def _fix_fingers_for_ever(member: Member) -> Operation[None]:
    while not member.leaving:
        try:
            more = yield from fix_finger(member)
        except RingcastError:
            more = False
        if not more:
            yield from sleep(member.settings.fingers_s * member.kernel.rng.uniform(0.2, 1.0))
            member.fingers.new_round()
        yield from sleep(member.settings.stabilize_s / 8)


def _repair_for_ever(member: Member) -> Operation[None]:
    while not member.leaving:
        yield from sleep(member.settings.repair_s * member.kernel.rng.uniform(0.5, 1.0))
        lapse(member)
        yield from repair(member)
