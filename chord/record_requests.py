"""What a member answers to requests for records: put and get as their owner, copies and arcs as a replica.

The owner of a key copies each change to the next processes of its successor list before it acknowledges it. A joiner
passes requests on to its successor until it has all of its records."""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace

from chord.arcs import fetch_arc
from chord.copies import replicated, tell_registered
from chord.effects import Operation, call
from chord.errors import Busy, InvalidName, NotMember, PeerUnreachable, Refused
from chord.member import Member
from chord.messages import Copy, FetchArc, Get, Noted, Page, Pointer, Put, Stored
from chord.names import normalise
from chord.repair import gather_arc, gather_record

PASSED_ON = 4
"""Successors that a joiner asks for a record which it has not got yet."""


def install(member: Member) -> None:
    """Have the member answer for records."""
    member.handlers[Put] = partial(_put, member)
    member.handlers[Get] = partial(_get, member)
    member.handlers[Copy] = partial(_copy, member)
    member.handlers[FetchArc] = partial(_arc, member)


def _key(member: Member, name: str) -> int:
    if normalise(name) != name:
        raise InvalidName(f"name {name!r} is not in its NFC form; send {normalise(name)!r}")
    return member.settings.space.key(name)


def _require_stand_in(member: Member, key: int) -> None:
    """Raises Busy unless this member has all of its records; whoever comes after it may be asked then.

    Raises Refused if it does not stand in for a joiner before it that has not got the records of the key: its
    predecessor has said that it has its own. That one has died, or the joiner passes on to a successor of long ago.
    """
    if not member.reach.complete:
        raise Busy(f"{member.me} has not got all of its records yet")
    if not member.reach.stands_in(key):
        raise Refused(f"{member.me} does not stand in for whoever owns key {key:016x}: {member.state.predecessor} does")


def _require_records(member: Member) -> None:
    """Raises Busy once the member has told its neighbours that it leaves: from then on they take puts for its keys."""
    if member.handed_over:
        raise Busy(f"{member.me} has left the ring and handed its records over")


def _require_still(member: Member) -> None:
    """Raises Busy if the member has begun to join anew while it asked others."""
    if not member.active or not member.reach.complete:
        raise Busy(f"{member.me} is joining anew")


def _get(member: Member, request: Get) -> Page | Operation[Page]:
    key = _key(member, request.name)
    _require_records(member)
    if request.acting:
        _require_stand_in(member, key)
        taker = _taker(member, key)
        if taker is not None:
            return _get_at_taker(member, taker, request)
    else:
        member.require_owner(key)
        if not member.reach.complete:
            return _get_passed_on(member, replace(request, acting=True))
    if not member.reach.covers(key):
        return _get_compared(member, request, key)
    return member.store.page(request.name, request.after, member.kernel.now)


def _get_passed_on(member: Member, request: Get) -> Operation[Page]:
    """The answer of the first successor that is complete: the next one may have joined just now itself."""
    for successor in member.state.successors[:PASSED_ON]:
        try:
            return (yield from call(successor, request, Page, attempts=2))
        except (PeerUnreachable, NotMember, Busy):
            continue
    if member.state.successors:
        raise Busy(f"{member.me} has not got all of its records yet, and no successor that has them answers")
    return member.store.page(request.name, request.after, member.kernel.now)


def _taker(member: Member, key: int) -> Pointer | None:
    """Who has taken the key's arc over though it is not the predecessor any more, so that nobody passes on for it.

    Somebody has joined behind it that does not know of it yet. What that one passes on here belongs there.
    """
    taker = member.reach.taker(key)
    return None if taker == member.state.predecessor else taker


def _get_at_taker(member: Member, taker: Pointer, request: Get) -> Operation[Page]:
    try:
        return (yield from call(taker, request, Page, attempts=2))
    except (PeerUnreachable, NotMember):
        member.reach.taker_gone(taker)
    answer = _get(member, request)
    return answer if isinstance(answer, Page) else (yield from answer)


def _put_at_taker(member: Member, taker: Pointer, request: Put) -> Operation[Stored]:
    try:
        return (yield from call(taker, request, Stored))
    except (PeerUnreachable, NotMember):
        member.reach.taker_gone(taker)
    answer = _put(member, request)
    return answer if isinstance(answer, Stored) else (yield from answer)


def _get_compared(member: Member, request: Get, key: int) -> Operation[Page]:
    yield from gather_record(member, key)
    _require_still(member)
    _require_records(member)
    if not request.acting:
        member.require_owner(key)
    return member.store.page(request.name, request.after, member.kernel.now)


def _put(member: Member, request: Put) -> Stored | Operation[Stored]:
    key = _key(member, request.name)
    if member.leaving:
        raise Busy(f"{member.me} is leaving the ring")
    if request.acting:
        _require_stand_in(member, key)
        taker = _taker(member, key)
        if taker is not None:
            return _put_at_taker(member, taker, request)
    else:
        member.require_owner(key)
        if not member.reach.complete and member.state.successors:
            return _put_passed_on(member, member.state.successor, replace(request, acting=True), key)
    if not member.reach.covers(key):
        return _put_compared(member, request, key)
    entry, changed = member.store.put(request, member.kernel.now)
    member.reach.answered(key)
    return replicated(member, entry, changed)


def _put_passed_on(member: Member, successor: Pointer, request: Put, key: int) -> Operation[Stored]:
    """The successor takes it. A member that has got its records meanwhile may have got them without this one."""
    stored = yield from call(successor, request, Stored)
    if member.reach.complete:
        yield from fetch_arc(member, successor, (key - 1) % member.settings.space.size, key)
    return stored


def _put_compared(member: Member, request: Put, key: int) -> Operation[Stored]:
    yield from gather_record(member, key)
    _require_still(member)
    if not request.acting:
        member.require_owner(key)
    if member.leaving:
        raise Busy(f"{member.me} is leaving the ring")
    entry, changed = member.store.put(request, member.kernel.now)
    member.reach.answered(key)
    return (yield from replicated(member, entry, changed))


def _copy(member: Member, request: Copy) -> Noted:
    now = member.kernel.now
    if member.leaving:  # what comes after its own hand-over has begun would go with it
        raise Busy(f"{member.me} is leaving the ring and takes no copies")
    keys = [_key(member, entry.name) for entry in request.entries]
    if not request.handover and any(member.owns(key) for key in keys):
        raise Refused(f"{member.me} owns a key of this copy itself; whoever sent it is not its owner")
    for key, entry in zip(keys, request.entries, strict=True):
        if request.owned:
            member.reach.answered(key)
        if member.store.merge(entry, now) and request.handover:
            tell_registered(member, entry)
    return Noted()


def _arc(member: Member, request: FetchArc) -> Page | Operation[Page]:
    if request.takeover:
        if not member.reach.complete:
            # What it has so far would pass for all there is.
            raise Busy(f"{member.me} has not got all of its records yet")
        _require_joiner(member, request.high)
        if not member.reach.covers((request.low + 1) % member.settings.space.size):
            return _arc_compared(member, request)
    page = member.store.arc(request.low, request.high, request.after, member.kernel.now)
    _note_taken(member, request, page)
    return replace(page, seasoned=True) if member.reach.seasoned(member.kernel.now) else page


def _require_joiner(member: Member, high: int) -> None:
    """Raises Busy unless the predecessor is at `high` and lacks its records: nobody else takes an arc over from here.

    For anybody else this member would ask around the ring, and answer for arcs that are not its own.
    """
    predecessor = member.state.predecessor
    if predecessor is None or predecessor.id != high or member.reach.predecessor_complete:
        raise Busy(
            f"{member.me} hands nothing over up to {high:016x}: only its predecessor takes over, which is "
            f"{predecessor}, and only until it has its records"
        )


def _arc_compared(member: Member, request: FetchArc) -> Operation[Page]:
    """An arc that reaches back beyond what is all here: whoever owned it is gone, and the replicas may know more."""
    moves = member.reach.moves
    yield from gather_arc(member, request.low, member.reach.low)
    if member.reach.moves == moves:
        member.reach.extend(request.low)
    page = member.store.arc(request.low, request.high, request.after, member.kernel.now)
    _note_taken(member, request, page)
    return page


def _note_taken(member: Member, request: FetchArc, page: Page) -> None:
    """The last page of a take-over goes to the predecessor."""
    predecessor = member.state.predecessor
    if request.takeover and not page.more and predecessor is not None and predecessor.id == request.high:
        member.reach.taken(request.low, predecessor)
