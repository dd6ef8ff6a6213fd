"""What a member answers to requests about the ring: who its neighbours are, whether it owns a key, who is there.

Zave's shared-state rule: a neighbour query is answered busy while a query of the member's own is unanswered; all other
news is taken, and all other answers given, at once.
"""

from __future__ import annotations

from functools import partial

from chord import ring_state
from chord.errors import Busy
from chord.identifiers import between_right
from chord.member import Member
from chord.messages import (
    CompareArc,
    ConfirmOwner,
    GetNeighbours,
    Leave,
    Meet,
    Neighbours,
    NextHop,
    Noted,
    Notify,
    Nudge,
    Owned,
    Ping,
    Pong,
    Same,
)
from chord.ring_state import RingState


def install(member: Member) -> None:
    """Have the member answer them."""
    member.handlers[Ping] = lambda _request: Pong()
    member.handlers[NextHop] = member.next_hop
    member.handlers[ConfirmOwner] = partial(_confirm_owner, member)
    member.handlers[GetNeighbours] = partial(_get_neighbours, member)
    member.handlers[Notify] = partial(_notify, member)
    member.handlers[Nudge] = lambda _request: _nudge(member)
    member.handlers[Meet] = partial(_meet, member)
    member.handlers[Leave] = partial(_leave, member)
    member.handlers[CompareArc] = partial(_compare_arc, member)


def _confirm_owner(member: Member, request: ConfirmOwner) -> Owned:
    member.require_owner(request.key)
    return Owned(member.me)


def _get_neighbours(member: Member, request: GetNeighbours) -> Neighbours:
    busy = member.pending and not request.observe  # before the news makes this member ask in its turn
    sender = request.sender
    if sender is not None and sender not in member.departed:
        state, must_ping = ring_state.rectified(member.state, sender)
        if not must_ping:  # else it notifies when it has seen the answer
            _heard(member, state, request)
    if busy:
        raise Busy(f"{member.me} waits for an answer of its own")
    return member.neighbours()


def _notify(member: Member, request: Notify) -> Noted:
    """Rectify. The old predecessor is pinged first unless the notifier lies between it and this member."""
    sender = request.sender
    if sender in member.departed:  # sent before it left
        return Noted()
    state, must_ping = ring_state.rectified(member.state, sender)
    if must_ping:
        member.notifier = sender
        member.start_rectifying()
    else:
        _heard(member, state, request)
    return Noted()


def _heard(member: Member, state: RingState, request: GetNeighbours | Notify) -> None:
    """Somebody that need not be pinged for notified this member, which led to `state`."""
    sender = request.sender
    if sender is None or state.predecessor != sender:
        return
    member.state = state
    member.heard_at = member.kernel.now
    low = member.reach.told(sender, request.complete)
    if low is not None:
        member.start_yielding(low, sender)
    if state.successors or state.whole:
        member.adopted = True
        if request.attached and not member.attached:
            _attach(member)
    if not member.state.successors:
        member.start_stabilizing()


def _attach(member: Member) -> None:
    """The ring leads to the member; if the next one has joined lately as well it waits for that too."""
    member.attached = True
    if member.confirming is not None and member.confirming.lacks_after is not None:
        member.start_stabilizing()


def _nudge(member: Member) -> Noted:
    member.start_stabilizing()
    return Noted()


def _meet(member: Member, request: Meet) -> Noted:
    member.lost(request.sender)
    member.start_meeting(request.sender)
    return Noted()


def _leave(member: Member, request: Leave) -> Noted:
    gone = request.sender
    member.departed.append(gone)
    member.forget(gone)
    member.reach.taker_gone(gone)
    if member.notifier == gone:
        member.notifier = None
    member.start_stabilizing()
    return Noted()


def _compare_arc(member: Member, request: CompareArc) -> Same:
    if not member.reach.complete:
        raise Busy(f"{member.me} has not got all of its records yet")
    if not any(between_right(request.low, one.me.id, request.high) for one in member.siblings):
        member.compared.note(request.low, request.high, member.kernel.now)
    return Same(member.store.digest(request.low, request.high) == request.digest)
