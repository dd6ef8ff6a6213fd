"""Records change hands: a joiner takes its arc over, a leaver hands its own on, a mover gives back what is not its own.

A joiner fetches its arc from its successor, and passes requests on to it until that is complete."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from chord.arcs import PAGES_AT_MOST, fetch_page, send_arc
from chord.effects import Operation, call, gather, sleep, spawn
from chord.errors import Busy, RingcastError
from chord.identifiers import between
from chord.lookup import Walk, find_owner
from chord.member import Member
from chord.messages import CompareArc, Copy, FetchArc, GetNeighbours, Leave, Neighbours, Noted, Pointer, Same
from chord.repair import repair

TAKE_OVER_ROUNDS = 60
TAKE_OVER_PAUSE_S = 0.2

HAND_BACK_ROUNDS = 60
HAND_BACK_PAUSE_S = 0.2
HAND_BACK_PAUSES = 32
"""To so many of them a pause grows."""


def take_over(member: Member) -> Operation[None]:
    """Fetch the arc of a member that has joined from its successor; start over when that one changes.

    Only when both neighbours have adopted the member, and the ring leads to them: before that, others take puts for its
    arc that need not reach it, the successor or one that joins between the two; and the ring may close without it.
    After TAKE_OVER_ROUNDS the member answers with what it has and the replicas know, and says so in the traces. If the
    ring led to nobody any more it would begin with this member.
    """
    me = member.me
    for _ in range(TAKE_OVER_ROUNDS):
        if not member.state.successors:
            done = member.state.alone  # then there is nobody else who could hold anything
            break
        try:
            done = member.adopted and member.attached and (yield from _fetch_own_arc(member, member.state.successor))
        except RingcastError:
            done = False
        if done or member.me != me:
            break
        yield from sleep(TAKE_OVER_PAUSE_S)
    if member.me != me:
        return  # it has joined anew, and takes over anew
    if done:
        member.reach.completed(member.kernel.now)
    else:
        member.reach.given_up(member.kernel.now)
        member.attached = True
    member.event("complete" if done else "incomplete")
    yield from spawn(repair(member))


def _fetch_own_arc(member: Member, successor: Pointer) -> Operation[bool]:
    """Fetch every page of the arc; False when the successor has not adopted the member, or changed meanwhile."""
    view = yield from call(successor, GetNeighbours(observe=True), Neighbours, attempts=2)
    if view.predecessor != member.me or member.state.predecessor is None:
        return False
    after = "", ""
    doubts = member.reach.doubts
    low, high = member.arc()
    if between(member.reach.joined_after, low, high):
        low = member.reach.joined_after  # whoever has joined between since then fetches its part from here
    for _ in range(PAGES_AT_MOST):
        following, _ = yield from fetch_page(member, successor, FetchArc(low, high, after, takeover=True))
        if member.state.successor != successor or member.reach.doubts != doubts:
            return False
        if following is None:
            member.reach.low = low
            return True
        after = following
    return False


def hand_over(member: Member, known: Iterable[Pointer] = ()) -> Operation[str]:
    """Leave gracefully: as many processes as hold a record take this member's share, then both neighbours are told.

    That is more than its arc: a predecessor that leaves too may just have handed its own over to this member. As
    many: those that hold a record with this member may die at this very moment, before the others have copied it
    anew. `known`: members of other processes that this process knows of, should the list hold none. Returns why nobody
    took the records, or nothing when somebody did or there were none.
    """
    member.leaving = True
    me = member.me
    low, high = member.share()
    held = any(not entry.deleted for entry in member.store.arc(low, high, ("", ""), member.kernel.now).entries)
    targets = _takers(member, known)
    wanted = member.settings.replicas
    takers: list[Pointer] = []
    outcome = lost = "there was nobody to take its records"
    while targets and len(takers) < wanted:
        asked, targets = targets[: wanted - len(takers)], targets[wanted - len(takers) :]
        answers = yield from gather([send_arc(member, target, low, high, handover=True) for target in asked])
        for target, answer in zip(asked, answers, strict=True):
            if not isinstance(answer, RingcastError):
                takers.append(target)
            elif not takers:
                outcome = lost = f"nobody took its records: {answer}"
    if takers:
        outcome, lost = f"records handed over to {', '.join(map(str, takers))}", ""
    neighbours = [pointer for pointer in (member.state.predecessor, *member.state.successors[:1]) if pointer]
    member.handed_over = True
    yield from gather([call(pointer, Leave(me), Noted) for pointer in dict.fromkeys(neighbours)])
    member.active = False
    member.event("left", outcome)
    return lost if held else ""


def _takers(member: Member, known: Iterable[Pointer]) -> list[Pointer]:
    """The next member of each other process, in ring order."""
    me = member.me
    distance = member.settings.space.distance
    others = {pointer for pointer in (*member.state.successors, *known) if pointer.address != me.address}
    first: dict[str, Pointer] = {}
    for pointer in sorted(others, key=lambda pointer: (distance(me.id, pointer.id), pointer.incarnation)):
        first.setdefault(pointer.address, pointer)
    return list(first.values())


def hand_back(member: Member, low: int, high: int) -> Operation[None]:
    """Give each record with a key in (low, high] that this process holds and does not own to its owner.

    What is not taken is offered again, HAND_BACK_ROUNDS times: this member, or the owner, may be joining just now.
    """
    offered = list(_held_in(member, low, high))
    for turn in range(HAND_BACK_ROUNDS):
        refused = []
        for name, entries in offered:
            try:
                yield from _give_back(member, name, entries)
            except RingcastError:
                refused.append((name, entries))
        if not refused or member.leaving:
            return
        offered = refused
        yield from sleep(HAND_BACK_PAUSE_S * min(2**turn, HAND_BACK_PAUSES) * member.kernel.rng.uniform(0.5, 1.0))
    member.event("not handed back", f"{len(offered)} records, which nobody took")


def _held_in(member: Member, low: int, high: int) -> Iterator[tuple[str, list[str]]]:
    """The records held with a key in (low, high], each with the ids of its entries, a page of them together."""
    after = "", ""
    more = True
    while more:
        page = member.store.arc(low, high, after, member.kernel.now)
        for name, entries in groupby(page.entries, key=lambda entry: entry.name):
            yield name, [entry.entry for entry in entries]
        if page.entries:
            after = page.entries[-1].name, page.entries[-1].entry
        more = page.more


def yield_arc(member: Member, low: int, predecessor: Pointer) -> Operation[None]:
    """Give up (low, predecessor]: that one says it has its records, and this member answered for them until now.

    A joiner that owns all of it has fetched it. One of another ring that has met this one knows nothing of what was
    stored here, and there may be others before it.
    """
    try:
        view = yield from call(predecessor, GetNeighbours(observe=True), Neighbours, attempts=2)
        if view.predecessor is not None and not between(low, view.predecessor.id, predecessor.id):
            digest = member.store.digest(low, predecessor.id)
            answer = yield from call(predecessor, CompareArc(low, predecessor.id, digest), Same, attempts=2)
            if answer.same:
                return
    except RingcastError:
        pass
    yield from hand_back(member, low, predecessor.id)


def _give_back(member: Member, name: str, entries: list[str]) -> Operation[None]:
    """Give some entries of one record to the owner of its key, as they are when that one has been found."""
    key = member.settings.space.key(name)
    if any(sibling.owns(key) and not sibling.state.alone for sibling in member.siblings):
        return  # one that is alone has yet to join the ring that this member is in
    owner = yield from find_owner(member.kernel, member.settings.space, [member.me], Walk(key))
    if owner == member.me and not member.owns(key):
        raise Busy(f"{member.me} stands in for the owner of {name!r}")
    now = member.kernel.now
    held = tuple(found for entry in entries if (found := member.store.find(name, entry, now)) is not None)
    if held:
        yield from call(owner, Copy(held, handover=True, owned=True, onward=True), Noted, attempts=2)
