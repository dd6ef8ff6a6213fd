"""Repair: what a member and its replicas hold of its arc becomes the same again."""

from __future__ import annotations

from chord import ring_state
from chord.arcs import fetch_arc, send_arc
from chord.effects import Operation, call, gather
from chord.errors import Busy, RingcastError
from chord.member import Member
from chord.messages import CompareArc, Pointer, Same

REPAIRS_IN_A_ROW = 4
"""Repairs without a pause while the neighbours change."""


def repair(member: Member) -> Operation[bool]:
    """Compare the member's arc with each replica; where they differ, each gets what it lacks of the other's.

    An owner may lack something too: its predecessor joined and died, or it joined itself, before all was copied here.
    An arc that has just grown is gathered from all that the list names: whoever joined since then is a replica that
    knows no more.
    One at a time; what is asked for meanwhile has it go over the replicas once more. Returns whether all is the same.
    """
    if member.repairing:
        member.repair_again = True
        return False
    member.repairing = True
    same = False
    for _ in range(REPAIRS_IN_A_ROW):
        member.repair_again = False
        same = yield from _repair_once(member)
        if not member.repair_again:
            break
    member.repairing = False
    return same


def _repair_once(member: Member) -> Operation[bool]:
    if not member.active or not member.complete or member.state.predecessor is None:
        return False
    compared: set[str] = set()
    moves = member.moves
    low, _ = member.arc()
    failed = False
    same = True
    if not member.holds((low + 1) % member.settings.space.size):
        try:
            yield from gather_arc(member, low, member.reach)
        except RingcastError:
            failed = True
    for _ in range(member.settings.replicas):
        if not member.active or not member.complete or member.state.predecessor is None:
            return False
        replicas = ring_state.replicas(member.state, member.settings.replicas)
        target = next((pointer for pointer in replicas if pointer.address not in compared), None)
        if target is None:
            break
        compared.add(target.address)
        try:
            same = (yield from _repair_with(member, target)) and same
        except RingcastError:
            failed = True  # the next repair, a little later, does it again
    if not failed and member.moves == moves:
        member.extend(low)
    return same and not failed


def _repair_with(member: Member, target: Pointer) -> Operation[bool]:
    """Make a replica hold the same as this member of its arc; returns whether it did already."""
    low, high = member.arc()
    answer = yield from call(target, CompareArc(low, high, member.store.digest(low, high)), Same)
    if not answer.same and member.arc() == (low, high):
        yield from send_arc(member, target, low, high, handover=False)
        yield from fetch_arc(member, target, low, high)
    return answer.same


def gather_arc(member: Member, low: int, high: int) -> Operation[None]:
    """Get what any other process of the list holds of an arc that a predecessor owned until lately.

    Not only the replicas that this member would have: others may have joined between, and hold nothing yet. Raises Busy
    if none answers.
    """
    kernel = member.kernel
    targets = ring_state.replicas(member.state, len(member.state.successors) + 1)
    alive = [pointer for pointer in targets if not kernel.round_trips.suspected(pointer.address, kernel.now)]
    outcomes = yield from gather([fetch_arc(member, pointer, low, high) for pointer in alive or targets])
    if outcomes and all(isinstance(outcome, RingcastError) for outcome in outcomes):
        raise Busy(f"{member.me} has not heard yet what the former owner of ({low:016x}, {high:016x}] stored there")


def gather_record(member: Member, key: int) -> Operation[None]:
    """The same for the record of one key."""
    yield from gather_arc(member, (key - 1) % member.settings.space.size, key)
