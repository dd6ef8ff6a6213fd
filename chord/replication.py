"""Records that outlive their owner: puts held by several processes, hand-over to joiners and from leavers, repair.

The owner of a key copies each change to the next processes of its successor list before it acknowledges it. A joiner
fetches its arc from its successor, and passes requests on to it until that is complete.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from itertools import groupby

from chord import ring_state
from chord.effects import Operation, call, cast, gather, sleep, spawn
from chord.errors import (
    Busy,
    CopiesMissing,
    InvalidName,
    NotMember,
    PeerUnreachable,
    Refused,
    RingcastError,
)
from chord.identifiers import between
from chord.lookup import Walk, find_owner
from chord.member import Member
from chord.messages import (
    Changed,
    CompareArc,
    Copy,
    Entry,
    FetchArc,
    Get,
    Leave,
    Noted,
    Page,
    Pointer,
    Put,
    Same,
    Stored,
)
from chord.names import normalise
from chord.pages import Place, next_place

COPY_ROUNDS = 6
COPY_PAUSE_S = 0.2
TAKE_OVER_ROUNDS = 60
REPAIRS_IN_A_ROW = 4
"""Repairs without a pause while the neighbours change."""

PAGES_AT_MOST = 10_000
LEAVE_TARGETS = 4
CASTS_IN_A_ROW = 64
CASTS_PAUSE_S = 0.02
"""Casts to many are spread, so that they do not crowd out what the ring itself has to say."""

PASSED_ON = 4
"""Successors that a joiner asks for a record which it has not got yet."""


def install(member: Member) -> None:
    """Have the member answer for records."""
    member.handlers[Put] = lambda request: _put(member, request)
    member.handlers[Get] = lambda request: _get(member, request)
    member.handlers[Copy] = lambda request: _copy(member, request)
    member.handlers[FetchArc] = lambda request: _arc(member, request)


def _key(member: Member, name: str) -> int:
    if normalise(name) != name:
        raise InvalidName(f"name {name!r} is not in its NFC form; send {normalise(name)!r}")
    return member.settings.space.key(name)


# Answers -----------------------------------------------------------------------------------------------------------


def _get(member: Member, request: Get) -> Page | Operation[Page]:
    key = _key(member, request.name)
    if request.acting:
        if not member.complete:
            raise Busy(f"{member.me} has not got all of its records yet")
    else:
        member.require_owner(key)
        if not member.complete:
            return _get_passed_on(member, Get(request.name, request.after, acting=True))
        if not member.holds(key):
            return _get_compared(member, request, key)
    return member.store.page(request.name, request.after, member.kernel.now)


def _get_passed_on(member: Member, request: Get) -> Operation[Page]:
    """The answer of the first successor that is complete: the next one may have joined just now itself."""
    for successor in member.state.successors[:PASSED_ON]:
        try:
            return (yield from call(successor, request, Page, attempts=2))
        except (PeerUnreachable, NotMember, Busy):
            continue
    return member.store.page(request.name, request.after, member.kernel.now)


def _put(member: Member, request: Put) -> Stored | Operation[Stored]:
    key = _key(member, request.name)
    if member.leaving:
        raise Busy(f"{member.me} is leaving the ring")
    if request.acting:
        if not member.complete:
            raise Busy(f"{member.me} has not got all of its records yet")
    else:
        member.require_owner(key)
        if not member.complete and member.state.successors:
            return call(member.state.successor, _acting(request), Stored)
        if not member.holds(key):
            return _put_compared(member, request, key)
    entry, changed = member.store.put(request, member.kernel.now)
    return _replicated(member, entry, changed)


def _get_compared(member: Member, request: Get, key: int) -> Operation[Page]:
    yield from _compare_record(member, key)
    member.require_owner(key)
    return member.store.page(request.name, request.after, member.kernel.now)


def _put_compared(member: Member, request: Put, key: int) -> Operation[Stored]:
    yield from _compare_record(member, key)
    member.require_owner(key)
    if member.leaving:
        raise Busy(f"{member.me} is leaving the ring")
    entry, changed = member.store.put(request, member.kernel.now)
    return (yield from _replicated(member, entry, changed))


def _compare_record(member: Member, key: int) -> Operation[None]:
    """Get what the replicas hold of one record that a predecessor owned until lately. Raises Busy if none answers."""
    kernel = member.kernel
    targets = ring_state.replicas(member.state, member.settings.replicas)
    alive = [pointer for pointer in targets if not kernel.round_trips.suspected(pointer.address, kernel.now)]
    low = (key - 1) % member.settings.space.size
    outcomes = yield from gather([_fetch_pages(member, pointer, low, key) for pointer in alive or targets])
    if outcomes and all(isinstance(outcome, RingcastError) for outcome in outcomes):
        raise Busy(f"{member.me} has not heard yet what the former owner of key {key:016x} stored under it")


def _acting(request: Put) -> Put:
    return Put(
        request.name,
        request.entry,
        request.value,
        request.lease_s,
        request.version,
        request.notify,
        request.deleted,
        acting=True,
    )


def _copy(member: Member, request: Copy) -> Noted:
    now = member.kernel.now
    if request.handover and member.leaving:
        raise Busy(f"{member.me} is leaving the ring and takes no hand-over")
    keys = [_key(member, entry.name) for entry in request.entries]
    if not request.handover and any(member.owns(key) for key in keys):
        raise Refused(f"{member.me} owns a key of this copy itself; whoever sent it is not its owner")
    for entry in request.entries:
        if member.store.merge(entry, now) and request.handover:
            tell_registered(member, entry)
    return Noted()


def tell_registered(member: Member, entry: Entry) -> None:
    """Cast a change to all that are registered in the record."""
    addresses = member.store.registered(entry.name, member.kernel.now)
    if addresses:
        member.kernel.start(_tell(addresses, Changed(entry)))


def _tell(addresses: list[str], change: Changed) -> Operation[None]:
    for number, address in enumerate(addresses, 1):
        yield from cast(address, change)
        if number % CASTS_IN_A_ROW == 0:
            yield from sleep(CASTS_PAUSE_S)


def _arc(member: Member, request: FetchArc) -> Page:
    if not member.complete:
        # What it has so far would pass for all there is.
        raise Busy(f"{member.me} has not got all of its records yet")
    return member.store.arc(request.low, request.high, request.after, member.kernel.now)


# Copies ------------------------------------------------------------------------------------------------------------


def _replicated(member: Member, entry: Entry, changed: bool) -> Operation[Stored]:
    """Acknowledge once min(replicas, processes) distinct processes hold the entry. Raises CopiesMissing."""
    holders: set[str] = {member.me.address}
    wanted = 1
    version = entry.version
    for attempt in range(COPY_ROUNDS):
        if attempt:
            yield from sleep(COPY_PAUSE_S)
            # As it is now: its lease goes on, and a later put may have replaced it.
            entry = member.store.find(entry.name, entry.entry, member.kernel.now) or entry
        targets = _targets(member, entry)
        wanted = min(member.settings.replicas, ring_state.processes(member.state))
        missing = [pointer for pointer in targets if pointer.address not in holders]
        handover = [_takes_over(member, pointer, entry) for pointer in missing]
        outcomes = yield from gather(
            [call(pointer, Copy((entry,), over), Noted) for pointer, over in zip(missing, handover, strict=True)]
        )
        holders.update(
            pointer.address for pointer, outcome in zip(missing, outcomes, strict=True) if isinstance(outcome, Noted)
        )
        if len(holders) >= wanted:
            if changed:
                tell_registered(member, entry)
            return Stored(version, len(holders))
    raise CopiesMissing(
        f"entry {entry.entry!r} of {entry.name!r} is held by {len(holders)} of {wanted} processes; put it again"
    )


def _targets(member: Member, entry: Entry) -> list[Pointer]:
    """Who else has to hold an entry: the replicas, and the predecessor while that one takes the arc over."""
    targets = ring_state.replicas(member.state, member.settings.replicas)
    predecessor = member.state.predecessor
    if predecessor is not None and _takes_over(member, predecessor, entry):
        targets = [predecessor, *(pointer for pointer in targets if pointer.address != predecessor.address)]
    return targets


def _takes_over(member: Member, pointer: Pointer, entry: Entry) -> bool:
    """Whether `pointer`, the predecessor, owns the entry rather than this member."""
    return pointer == member.state.predecessor and not member.owns(member.settings.space.key(entry.name))


def repair(member: Member) -> Operation[None]:
    """Compare the member's arc with each replica; where they differ, each gets what it lacks of the other's.

    An owner may lack something too: its predecessor joined and died, or it joined itself, before all was copied here.
    One at a time; what is asked for meanwhile has it go over the replicas once more.
    """
    if member.repairing:
        member.repair_again = True
        return
    member.repairing = True
    for _ in range(REPAIRS_IN_A_ROW):
        member.repair_again = False
        yield from _repair_once(member)
        if not member.repair_again:
            break
    member.repairing = False


def _repair_once(member: Member) -> Operation[None]:
    compared: set[str] = set()
    moves = member.moves
    low, _ = member.arc()
    failed = False
    for _ in range(member.settings.replicas):
        if not member.active or not member.complete or member.state.predecessor is None:
            return
        replicas = ring_state.replicas(member.state, member.settings.replicas)
        target = next((pointer for pointer in replicas if pointer.address not in compared), None)
        if target is None:
            break
        compared.add(target.address)
        try:
            yield from _repair_with(member, target)
        except RingcastError:
            failed = True  # the next repair, a little later, does it again
    if not failed and member.moves == moves:
        member.reach = low


def _repair_with(member: Member, target: Pointer) -> Operation[None]:
    low, high = member.arc()
    answer = yield from call(target, CompareArc(low, high, member.store.digest(low, high)), Same)
    if not answer.same and member.arc() == (low, high):
        yield from _send_arc(member, target, low, high, handover=False)
        yield from _fetch_pages(member, target, low, high)


def _send_arc(member: Member, target: Pointer, low: int, high: int, handover: bool) -> Operation[None]:
    """Copy every entry with a key in (low, high] to a member, page by page."""
    after = ("", "")
    for _ in range(PAGES_AT_MOST):
        page = member.store.arc(low, high, after, member.kernel.now)
        if page.entries:
            yield from call(target, Copy(page.entries, handover), Noted, attempts=2)
            after = (page.entries[-1].name, page.entries[-1].entry)
        if not page.more:
            return


# Hand-over ---------------------------------------------------------------------------------------------------------


def take_over(member: Member) -> Operation[None]:
    """Fetch the arc of a member that has joined from its successor; start over when that one changes.

    After TAKE_OVER_ROUNDS the member answers with what it has, and says in the traces that this may not be all.
    """
    me = member.me
    for _ in range(TAKE_OVER_ROUNDS):
        if not member.state.successors:
            done = member.state.alone  # then there is nobody else who could hold anything
            break
        try:
            done = yield from _fetch_arc(member, member.state.successor)
        except RingcastError:
            done = False
        if done or member.me != me:
            break
        yield from sleep(COPY_PAUSE_S)
    if member.me != me:
        return  # it has joined anew, and takes over anew
    member.complete = True
    member.event("complete" if done else "incomplete")
    yield from spawn(repair(member))


def _fetch_arc(member: Member, successor: Pointer) -> Operation[bool]:
    """Fetch every page of the arc; False when the successor changed meanwhile."""
    after = "", ""
    low, high = member.arc()
    if between(member.joined_after, low, high):
        low = member.joined_after  # whoever has joined between since then fetches its part from here
    for _ in range(PAGES_AT_MOST):
        following = yield from _fetch_page(member, successor, FetchArc(low, high, after))
        if member.state.successor != successor:
            return False
        if following is None:
            return True
        after = following
    return False


def _fetch_pages(member: Member, source: Pointer, low: int, high: int) -> Operation[None]:
    """Merge every entry with a key in (low, high] that another member holds."""
    after = "", ""
    for _ in range(PAGES_AT_MOST):
        following = yield from _fetch_page(member, source, FetchArc(low, high, after))
        if following is None:
            return
        after = following


def _fetch_page(member: Member, source: Pointer, request: FetchArc) -> Operation[Place | None]:
    """Merge one page of another member's entries; where the next one begins, or None if it was the last."""
    page = yield from call(source, request, Page, attempts=2)
    following = next_place(page, request.after, str(source))
    for entry in page.entries:
        member.store.merge(entry, member.kernel.now)
    return following


def hand_over(member: Member, known: Iterable[Pointer] = ()) -> Operation[None]:
    """Leave gracefully: all records go to the first successor that takes them, then both neighbours are told.

    All, not only those of its arc: a predecessor that leaves too may just have handed its own over to this member.
    `known`: members of other processes that this process knows of, should the list hold none.
    """
    member.leaving = True
    me = member.me
    distance = member.settings.space.distance
    others = {pointer for pointer in (*member.state.successors, *known) if pointer.address != me.address}
    targets = sorted(others, key=lambda pointer: (distance(me.id, pointer.id), pointer.incarnation))
    outcome = "there was nobody to take the records"
    for target in targets[:LEAVE_TARGETS]:
        try:
            yield from _send_arc(member, target, me.id, me.id, handover=True)
        except RingcastError as error:
            outcome = f"nobody took the records: {error}"
        else:
            outcome = f"records handed over to {target}"
            break
    neighbours = [pointer for pointer in (member.state.predecessor, *member.state.successors[:1]) if pointer]
    yield from gather([call(pointer, Leave(me), Noted) for pointer in dict.fromkeys(neighbours)])
    member.active = False
    member.event("left", outcome)


def hand_back(member: Member) -> Operation[None]:
    """Give each record that this member holds but does not own to its owner; used after it changed rings."""
    after = "", ""
    for _ in range(PAGES_AT_MOST):
        low, high = member.arc()
        page = member.store.arc(high, low, after, member.kernel.now)
        for name, entries in groupby(page.entries, key=lambda entry: entry.name):
            with suppress(RingcastError):  # it stays here, where nobody but a repair may find it
                yield from _give_back(member, name, [entry.entry for entry in entries])
        if not page.more:
            return
        after = page.entries[-1].name, page.entries[-1].entry


def _give_back(member: Member, name: str, entries: list[str]) -> Operation[None]:
    """Give some entries of one record to the owner of its key, as they are when that one has been found."""
    key = member.settings.space.key(name)
    if member.owns(key):
        return
    owner = yield from find_owner(member.kernel, member.settings.space, [member.me], Walk(key))
    now = member.kernel.now
    held = tuple(found for entry in entries if (found := member.store.find(name, entry, now)) is not None)
    if owner != member.me and held:
        yield from call(owner, Copy(held, handover=True), Noted, attempts=2)


def lapse(member: Member) -> None:
    """Drop what has expired; the owner tells those registered."""
    for entry in member.store.expire(member.kernel.now):
        if member.owns(member.settings.space.key(entry.name)):
            tell_registered(member, entry)
