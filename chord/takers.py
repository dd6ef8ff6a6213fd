"""Whether a joiner has heard of all who have some of what it is to be given: else both would answer for the same keys.

A member remembers who has taken an arc over from it (chord/reach.py). One that joins behind such a taker, and believes
in a predecessor of long ago, takes all that lies between for its own.
"""

from __future__ import annotations

from chord.effects import Operation, call, cast, gather
from chord.errors import RingcastError
from chord.member import Member
from chord.messages import GetNeighbours, Neighbours, Nudge, Pointer


def ask_around(member: Member, low: int, joiner: Pointer) -> Operation[None]:
    """Go back from the joiner, predecessor by predecessor, to each taker after `low`, and ask those that are left out.

    Whoever lies between counts too: it fetches its part from the joiner. Nothing if that goes on already. What comes of
    it counts for this predecessor alone.
    """
    if member.asking_around:
        return
    member.asking_around = True
    reach = member.reach
    moves = reach.moves
    distance = member.settings.space.distance
    at: Pointer | None = joiner
    skipped = []
    for taker in reach.unheard_in(low, joiner.id):
        while at is not None and distance(at.id, joiner.id) < distance(taker.id, joiner.id):
            at = yield from _before(member, at, joiner)
        if at != taker:
            skipped.append(taker)
        elif reach.moves == moves:
            reach.heard_of(taker)
    yield from gather([_ask(member, taker, moves) for taker in skipped])
    member.asking_around = False


def _before(member: Member, at: Pointer, joiner: Pointer) -> Operation[Pointer | None]:
    """The predecessor of a member; None when it does not tell of one further back from the joiner."""
    distance = member.settings.space.distance
    try:
        view = yield from call(at, GetNeighbours(observe=True), Neighbours, attempts=2)
    except RingcastError:
        return None
    before = view.predecessor
    return before if before and distance(before.id, joiner.id) > distance(at.id, joiner.id) else None


def _ask(member: Member, taker: Pointer, moves: int) -> Operation[None]:
    """Nobody need have heard of a taker that is gone, or will fetch its records from somebody else.

    It takes what it was sent from here as long as it takes this member for its successor. Any other one is nudged, so
    that it makes itself known.
    """
    try:
        view = yield from call(taker, GetNeighbours(observe=True), Neighbours, attempts=2)
    except RingcastError:
        member.reach.taker_gone(taker)
        return
    if view.lacks_after is None or member.me in view.successors[:1]:
        yield from cast(taker, Nudge())
    elif member.reach.moves == moves:
        member.reach.heard_of(taker)
