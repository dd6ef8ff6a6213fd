"""The ring as its members see it: a walk along their successors, and whether what they say fits together."""

from __future__ import annotations

from chord.effects import Operation, call
from chord.errors import LookupFailed, PeerUnreachable, RingcastError
from chord.messages import GetNeighbours, Neighbours, Pointer

WALK_AT_MOST = 100_000


def ring_walk(start: Pointer) -> Operation[list[Neighbours]]:
    """Follow the successors from `start` until the walk comes round, skipping successors that do not answer.

    Raises LookupFailed when it does not come round, and what is raised for `start` when that one does not answer.
    """
    views: list[Neighbours] = []
    seen: set[int] = set()
    gone: set[str] = set()
    pending = [start]
    while pending:
        if len(views) == WALK_AT_MOST:
            raise LookupFailed(f"a walk from {start} did not come round in {WALK_AT_MOST} members")
        pointer = pending.pop(0)
        if pointer.address in gone:
            continue
        try:
            view = yield from call(pointer, GetNeighbours(observe=True), Neighbours, attempts=2)
        except RingcastError as error:
            if not views:
                raise
            if isinstance(error, PeerUnreachable):
                gone.add(pointer.address)
            continue
        if view.member.id in seen:
            break
        seen.add(view.member.id)
        views.append(view)
        pending = list(view.successors)
    return views


def first_members(views: list[Neighbours]) -> list[Pointer]:
    """The first member of each turn of a walk, the turn that it began in first; only its first member if it did not
    come round to that one, which then is not on the ring itself (Zave's appendage).

    An ordered ring (Zave's OrderedRing) has one turn. In one that is wound around key 0 more than once, each member's
    neighbours may agree with it all the same.
    """
    members = [view.member for view in views]
    seen = {member.id for member in members}
    if next((pointer.id for pointer in views[-1].successors if pointer.id in seen), members[0].id) != members[0].id:
        return members[:1]
    firsts = [member for at, member in enumerate(members) if member.id <= members[at - 1].id]
    return firsts if firsts[0] == members[0] else firsts[-1:] + firsts[:-1]


def is_consistent(views: list[Neighbours]) -> bool:
    """Whether each one's successor and predecessor are the next and the last of the walk, and it passes key 0 once."""
    if len(views) == 1:
        return not views[0].successors
    return len(first_members(views)) == 1 and all(
        view.successors[:1] == (following.member,) and following.predecessor == view.member
        for view, following in zip(views, views[1:] + views[:1], strict=True)
    )
