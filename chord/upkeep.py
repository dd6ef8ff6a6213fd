"""What goes on at a member for as long as it lives: stabilizing, refreshing fingers, repairing."""

from __future__ import annotations

from collections.abc import Callable

from chord.copies import lapse
from chord.effects import Operation, sleep, spawn
from chord.errors import RingcastError
from chord.maintenance import fix_finger, reattach, stabilize, watch_predecessor
from chord.member import Member
from chord.repair import repair

MOST_PAUSES = 6
"""Pauses without work in a row while nothing changes: fingers are then refreshed about every 18 s, not every 3 s."""


def keep(member: Member, rejoin: Callable[[], Operation[None]]) -> Operation[None]:
    """Start all of it. `rejoin` is what a member does that has lost every successor."""
    yield from spawn(_stabilize_for_ever(member, rejoin))
    yield from spawn(_fix_fingers_for_ever(member))
    yield from spawn(_repair_for_ever(member))


def _stabilize_for_ever(member: Member, rejoin: Callable[[], Operation[None]]) -> Operation[None]:
    changed = True
    while not member.leaving:
        # News of a change travels one member a stabilization, so a member that has some does not wait for long.
        pause_s = max(member.settings.stabilize_s / (4 if changed else 1), _round_trip_s(member))
        yield from sleep(pause_s * member.kernel.rng.uniform(0.75, 1.0))
        before = member.state
        yield from stabilize(member)
        changed = member.state is not before
        yield from watch_predecessor(member)
        if member.active and member.state.isolated and not (yield from reattach(member)):
            yield from rejoin()


def _round_trip_s(member: Member) -> float:
    """To the successor. Who asks is busy for others; on a slow network all would be, but for the pauses between."""
    successors = member.state.successors
    return member.kernel.round_trips.peer(successors[0].address).mean_s if successors else 0.0


def _fix_fingers_for_ever(member: Member) -> Operation[None]:
    """Refresh the whole table again and again, ever more seldom while it stays as it is.

    Any change of the neighbours or of a finger, and a finger that is doubted, has it refreshed after one pause.
    """
    patience = 1
    while not member.leaving:
        before = member.state, member.fingers.changes
        try:
            while (yield from fix_finger(member)):
                yield from sleep(member.settings.stabilize_s / 8)
        except RingcastError:
            pass  # what is still due is tried again after one pause
        same = member.state is before[0] and member.fingers.changes == before[1]
        patience = min(2 * patience, MOST_PAUSES) if same else 1
        state = member.state
        for _ in range(patience):
            yield from sleep(member.settings.fingers_s * member.kernel.rng.uniform(0.2, 1.0))
            if member.leaving or member.state is not state or member.fingers.next_start() is not None:
                break
        member.fingers.new_round()


def _repair_for_ever(member: Member) -> Operation[None]:
    """Compare with the replicas again and again, ever more seldom while they hold the same and nothing changes here."""
    patience = 1
    while not member.leaving:
        before = member.state, member.store.changes
        for _ in range(patience):
            yield from sleep(member.settings.repair_s * member.kernel.rng.uniform(0.5, 1.0))
            lapse(member)
            if member.leaving or member.state is not before[0] or member.store.changes != before[1]:
                break
        before = member.state, member.store.changes
        same = yield from repair(member)
        if same and member.state is before[0] and member.store.changes == before[1]:
            patience = min(2 * patience, MOST_PAUSES)
        else:
            patience = 1
