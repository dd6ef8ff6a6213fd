"""Repair: what a member and its replicas hold of its arc becomes the same again."""

from __future__ import annotations

from chord import ring_state
from chord.arcs import fetch_arc, send_arc
from chord.effects import Operation, call, gather, sleep
from chord.errors import Busy, RingcastError
from chord.member import Member
from chord.messages import CompareArc, GetNeighbours, Neighbours, Pointer, Same

REPAIRS_IN_A_ROW = 5
"""Repairs one after the other while the neighbours change, or do not answer."""

GATHER_LISTS = 64
"""Successor lists that are followed in search of what an arc holds."""

REPAIR_PAUSE_S = 0.3
"""Before the second of them, if somebody did not answer; each later pause is twice as long."""


def repair(member: Member) -> Operation[bool]:
    """Compare the member's arc with each replica; where they differ, each gets what it lacks of the other's.

    An owner may lack something too: its predecessor joined and died, or it joined itself, before all was copied here.
    An arc that has just grown is gathered first: whoever joined since then is a replica that knows no more. A replica
    that cannot be compared with, as one that has no records yet, is tried again soon.
    One at a time; what is asked for meanwhile has it go over the replicas once more. Returns whether all is the same.
    """
    if member.repairing:
        member.repair_again = True
        return False
    member.repairing = True
    same: bool | None = None
    for turn in range(REPAIRS_IN_A_ROW):
        member.repair_again = False
        same = yield from _repair_once(member)
        if same is None:
            yield from sleep(REPAIR_PAUSE_S * 2**turn * member.kernel.rng.uniform(0.5, 1.0))
        elif not member.repair_again:
            break
    member.repairing = False
    return bool(same)


def _repair_once(member: Member) -> Operation[bool | None]:
    """Whether all was the same; None when somebody did not answer."""
    if not _answers(member):
        return False
    compared: set[str] = set()
    moves = member.reach.moves
    low, _ = member.arc()
    try:
        if not member.reach.covers((low + 1) % member.settings.space.size):
            yield from gather_arc(member, low, member.reach.low)
        if member.reach.moves == moves:
            member.reach.own(low)
        same = True
        failed = False
    except RingcastError:
        same, failed = False, True
    for _ in range(member.settings.replicas):
        if not _answers(member):
            return False
        replicas = ring_state.replicas(member.state, member.settings.replicas)
        target = next((pointer for pointer in replicas if pointer.address not in compared), None)
        if target is None:
            break
        compared.add(target.address)
        try:
            same = (yield from _repair_with(member, target)) and same
        except RingcastError:
            failed = True
    return None if failed else same


def _answers(member: Member) -> bool:
    """Whether there is an arc that this member answers for, and all of its records."""
    return member.active and member.reach.complete and member.state.predecessor is not None


def _repair_with(member: Member, target: Pointer) -> Operation[bool]:
    """Make a replica hold the same as this member of its arc; returns whether it did already."""
    low, high = member.arc()
    answer = yield from call(target, CompareArc(low, high, member.store.digest(low, high)), Same)
    if not answer.same and member.arc() == (low, high):
        yield from send_arc(member, target, low, high, handover=False)
        yield from fetch_arc(member, target, low, high)
    return answer.same


def gather_arc(member: Member, low: int, high: int) -> Operation[None]:
    """Get what other processes hold of an arc that a predecessor owned until lately.

    Not only the replicas that this member would have: others may have joined between since that one died, and hold
    nothing of it. It goes on along the ring until as many seasoned ones have answered as hold a record beside its
    owner, or all have. Raises Busy if somebody before the last of these does not answer: that one may be the only
    holder left, and whoever comes after it has never held anything.
    """
    wanted = member.settings.replicas - 1
    distance = member.settings.space.distance
    me = member.me.id
    asked = {member.me.address}
    seasoned = reached = 0
    following = member.state.successors
    unheard = Busy(f"{member.me} has not heard yet what the former owner of ({low:016x}, {high:016x}] stored there")
    if member.state.isolated:
        raise unheard  # there are others, but none that could be asked
    for _ in range(GATHER_LISTS):
        targets = list({pointer.address: pointer for pointer in following if pointer.address not in asked}.values())
        asked.update(pointer.address for pointer in targets)
        outcomes = yield from gather([fetch_arc(member, pointer, low, high) for pointer in targets])
        for outcome in outcomes:  # in ring order
            if seasoned >= wanted:
                return
            if isinstance(outcome, RingcastError):
                raise unheard
            seasoned += outcome
        before, reached = reached, distance(me, following[-1].id) if following else 0
        if seasoned >= wanted or reached <= before or any(pointer.id == me for pointer in following):
            return
        try:
            view = yield from call(following[-1], GetNeighbours(observe=True), Neighbours, attempts=2)
        except RingcastError as error:
            raise unheard from error
        if not view.successors:
            raise unheard  # it has lost the ring itself
        following = view.successors
    raise unheard


def gather_record(member: Member, key: int) -> Operation[None]:
    """The same for the record of one key."""
    yield from gather_arc(member, (key - 1) % member.settings.space.size, key)
