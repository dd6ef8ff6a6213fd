"""What a member answers to requests for records: put and get as their owner, copies as a replica.

The owner of a key copies each change to the next processes of its successor list before it acknowledges it. A joiner
passes requests on to its successor until it has all of its records."""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace

from chord.arcs import fetch_arc
from chord.copies import replicated, tell_registered
from chord.effects import Operation, call, gather
from chord.errors import (
    Busy,
    CopiesMissing,
    InvalidName,
    NotMember,
    PeerUnreachable,
    Refused,
    RingcastError,
)
from chord.member import Member
from chord.messages import Copy, Entry, Get, Noted, Page, Pointer, Put, Stored
from chord.names import normalise
from chord.repair import gather_record

PASSED_ON = 8
"""Successors that a joiner asks for a record which it has not got yet."""

GONE = (PeerUnreachable, NotMember)
"""A taker that is no more, as far as anybody can tell."""


def install(member: Member) -> None:
    """Have the member answer for records."""
    member.handlers[Put] = partial(_put, member)
    member.handlers[Get] = partial(_get, member)
    member.handlers[Copy] = partial(_copy, member)


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


def _gathered(member: Member, key: int) -> Operation[None]:
    """Ask the others for the record of a key. Raises Busy if the member joins anew, or stood still, meanwhile.

    Nor does each request ask for its record while all of the arc is asked for.
    """
    doubts = member.reach.doubts
    if member.reach.doubted and member.repairing:
        raise Busy(f"{member.me} stood still, and asks what others have taken meanwhile")
    yield from gather_record(member, key)
    if not member.active or not member.reach.complete or member.reach.doubts != doubts:
        raise Busy(f"{member.me} is joining anew, or stood still")


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
    except GONE:
        member.reach.taker_gone(taker)
    answer = _get(member, request)
    return answer if isinstance(answer, Page) else (yield from answer)


def _put_at_taker(member: Member, taker: Pointer, request: Put) -> Operation[Stored]:
    try:
        return (yield from call(taker, request, Stored))
    except GONE:
        member.reach.taker_gone(taker)
    answer = _put(member, request)
    return answer if isinstance(answer, Stored) else (yield from answer)


def _get_compared(member: Member, request: Get, key: int) -> Operation[Page]:
    yield from _gathered(member, key)
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
    yield from _gathered(member, key)
    if not request.acting:
        member.require_owner(key)
    if member.leaving:
        raise Busy(f"{member.me} is leaving the ring")
    entry, changed = member.store.put(request, member.kernel.now)
    member.reach.answered(key)
    return (yield from replicated(member, entry, changed))


def _copy(member: Member, request: Copy) -> Noted | Operation[Noted]:
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
    onward = _taken_over(member, keys, request) if request.onward else {}
    return _copied_onward(member, request, onward) if onward else _noted(member, request)


def _noted(member: Member, request: Copy) -> Noted:
    return Noted(newer=any(member.store.outdates(entry, member.kernel.now) for entry in request.entries))


def _taken_over(member: Member, keys: list[int], request: Copy) -> dict[Pointer, Copy]:
    """What somebody has taken over from here by now, who was given the rest without these entries.

    Each of these lies nearer after the key than this member, so that an entry comes to an end of its way.
    """
    distance = member.settings.space.distance
    taken: dict[Pointer, list[Entry]] = {}
    for key, entry in zip(keys, request.entries, strict=True):
        taker = None if member.owns(key) else member.reach.taker(key)
        if taker is not None and distance(key, taker.id) < distance(key, member.me.id):
            taken.setdefault(taker, []).append(entry)
    return {taker: replace(request, entries=tuple(entries)) for taker, entries in taken.items()}


def _copied_onward(member: Member, request: Copy, onward: dict[Pointer, Copy]) -> Operation[Noted]:
    """Raises CopiesMissing when a taker lives and does not take it: whoever sent it sends it again."""
    outcomes = yield from gather([call(taker, copy, Noted, attempts=2) for taker, copy in onward.items()])
    for taker, outcome in zip(onward, outcomes, strict=True):
        if isinstance(outcome, GONE):
            member.reach.taker_gone(taker)
        elif isinstance(outcome, RingcastError):
            raise CopiesMissing(f"{taker}, which took it over from {member.me}, does not hold it: {outcome}")
    if any(isinstance(outcome, Noted) and outcome.newer for outcome in outcomes):
        return Noted(newer=True)
    return _noted(member, request)
