"""Keeping the ring: Zave's stabilize and rectify, finding it again, and the refresh of the fingers, as operations.

Every decision on an answer is a pure transition in ring_state.py, taken on the state of the moment of the answer.
A member is `pending` exactly while a neighbour query of its own is unanswered.
"""

from __future__ import annotations

from contextlib import suppress

from chord import ring_state
from chord.effects import Operation, call, cast, gather, sleep
from chord.errors import (
    Busy,
    NotMember,
    PeerUnreachable,
    RingcastError,
)
from chord.identifiers import between
from chord.lookup import Walk, find_predecessor
from chord.member import Member
from chord.messages import ConfirmOwner, GetNeighbours, Neighbours, Notify, Owned, Ping, Pointer, Pong

BUSY_TRIES = 8
BUSY_PAUSE_S = 0.03
BUSY_ROUND_TRIPS = 8
"""How many round trips, at most, a busy peer is given before it is asked again."""

ROUNDS_IN_A_ROW = 64
"""Stabilizations without a pause while each one finds a closer successor."""

REATTACH_WALK = 64
"""Predecessors that a member without a successor follows from the nearest finger that lives."""

DEAD = (PeerUnreachable, NotMember)
"""A peer that is gone, as far as anybody can tell: silent twice, or no member any more."""


def ask_neighbours(member: Member, other: Pointer, notify: bool = False) -> Operation[Neighbours]:
    """A neighbour query: a slow peer is asked twice, a busy one again after a random pause. Raises Busy at last.

    Whoever asks is busy meanwhile. So the pauses grow with the round trip, and double: else, on a slow network, all
    members around a ring ask and are busy all the time. With `notify` the query is a `Notify` as well.
    """
    kernel = member.kernel
    for attempt in range(BUSY_TRIES):
        asked_at = kernel.now
        member.pending += 1
        try:
            query = _notice(member) if notify else GetNeighbours()
            answer = yield from call(other, query, Neighbours, attempts=2)
        except Busy:
            pass
        else:
            return answer
        finally:
            member.pending -= 1
        round_trips_s = (kernel.now - asked_at) * min(2**attempt, BUSY_ROUND_TRIPS)
        yield from sleep(kernel.rng.uniform(0.1, 1.0) * (BUSY_PAUSE_S + round_trips_s))
    raise Busy(f"{other} was busy {BUSY_TRIES} times in a row")


def _notice(member: Member) -> GetNeighbours:
    return GetNeighbours(sender=member.me, complete=member.reach.complete, attached=member.attached)


def stabilize(member: Member) -> Operation[None]:
    """Stabilize until nothing closer is found, then tell the successor. Nothing if that goes on already."""
    if member.stabilizing:
        return
    member.stabilizing = True
    for _ in range(ROUNDS_IN_A_ROW):
        member.stabilize_again = False
        changed = yield from _stabilize_once(member)
        if not changed and not member.stabilize_again:
            break
    member.stabilizing = False


def stabilize_now(member: Member) -> Operation[None]:
    """Stabilize because of some news, once more if that goes on already: it may be past what the news is about."""
    member.stabilize_again = True
    yield from stabilize(member)


def _stabilize_once(member: Member) -> Operation[bool]:
    """StabilizeFromSuccessor, then StabilizeFromPredecessor where it applies. True: go again at once.

    The query tells the successor of this member, and its answer whether it adopted it. If not, or if there is another
    successor in the end, that one is notified.
    """
    if member.leaving or not member.active or member.state.isolated:
        return False
    if member.state.alone:
        answer = member.neighbours()
    else:
        successor = member.state.successor
        try:
            answer = yield from ask_neighbours(member, successor, notify=True)
        except PeerUnreachable:
            member.drop_silent(successor)
            return not member.state.isolated
        except NotMember:
            member.drop(successor)
            return not member.state.isolated
        except RingcastError:
            return False
        if member.state.successor != successor:
            return True
        if member.state is not member.confirmed_state or answer != member.confirming:
            member.state = ring_state.successor_answered(member.state, answer)
            member.confirmed_state, member.confirming = member.state, answer
    adopted = yield from _adopt_closer(member, answer)
    known = answer.predecessor == member.me and answer.member == member.state.successor
    if not known and member.state.successors and not member.leaving:
        yield from cast(member.state.successor, Notify(member.me, member.reach.complete, member.attached))
    return adopted


def _adopt_closer(member: Member, answer: Neighbours) -> Operation[bool]:
    """StabilizeFromPredecessor: adopt the successor's predecessor if it lies closer, and answers."""
    found = ring_state.better_successor(member.state, answer)
    if found is None:
        return False
    try:
        candidate = yield from ask_neighbours(member, found)
    except RingcastError:
        return False
    if found in member.departed:  # it has left since it answered
        return False
    before = member.state.successor
    member.state = ring_state.candidate_answered(member.state, candidate)
    return member.state.successor != before


def reattach(member: Member) -> Operation[bool]:
    """Find a successor for a member that has lost all it knew: the first living member after the gap.

    From the nearest finger that answers, back along the predecessors until the next one is dead or lies before this
    member. False: no finger answers, or the way back is too long.
    """
    known = [*member.fingers, *([member.state.predecessor] if member.state.predecessor else [])]
    answers = yield from gather([call(pointer, GetNeighbours(observe=True), Neighbours, 2) for pointer in known])
    alive = [answer for answer in answers if isinstance(answer, Neighbours) and answer.member.id != member.me.id]
    distance = member.settings.space.distance
    nearest = min(alive, key=lambda answer: distance(member.me.id, answer.member.id), default=None)
    for _ in range(REATTACH_WALK):
        if nearest is None:
            break
        before = nearest.predecessor
        if before is not None and between(member.me.id, before.id, nearest.member.id):
            try:
                nearest = yield from call(before, GetNeighbours(observe=True), Neighbours, attempts=2)
                continue
            except DEAD:
                pass  # nobody lives between this member and that one
            except RingcastError:
                break
        member.state = ring_state.reattached(member.state, nearest)
        return not member.state.isolated
    return False


def rectify(member: Member) -> Operation[None]:
    """Ping the predecessor, and adopt the last notifier that came meanwhile in place of one that is dead."""
    if member.rectifying:
        return
    member.rectifying = True
    old = member.state.predecessor
    if old is not None:
        try:
            yield from call(old, Ping(), Pong, attempts=2)
        except PeerUnreachable:
            if member.state.predecessor == old:
                member.drop_silent(old)
        except NotMember:
            if member.state.predecessor == old:
                member.drop(old)
        except RingcastError:
            pass
        else:
            if member.state.predecessor == old:
                member.heard_at = member.kernel.now
    notifier, member.notifier = member.notifier, None
    if notifier is not None and member.state.predecessor is None:
        member.state, _ = ring_state.rectified(member.state, notifier)
    member.rectifying = False


def watch_predecessor(member: Member) -> Operation[None]:
    """Ping a predecessor that has been silent, so that a dead one does not stay until somebody else notifies."""
    predecessor = member.state.predecessor
    if predecessor is None:
        return
    if member.kernel.now - member.heard_at > member.settings.silence_s:
        yield from rectify(member)


def fix_finger(member: Member) -> Operation[bool]:
    """Refresh the next finger that is due, and all that the same answer covers. False: the round is over.

    The successor list tells whose the nearest starts are. Of any other the finger itself is asked first, and its owner
    looked up only when that one does not say that it still is.
    """
    while (due := member.fingers.next_start()) is not None:
        index, start = due
        listed = ring_state.listed_owner(member.state, start)
        if listed is None:
            break
        member.fill_finger(index, listed)
    else:
        return False
    finger = member.fingers.finger(index)
    if finger is not None:
        with suppress(RingcastError):
            answer = yield from call(finger, ConfirmOwner(start), Owned)
            if answer.owner == finger:
                member.fill_finger(index, finger)
                return True
    hop = yield from find_predecessor(member.kernel, member.settings.space, [member.me], Walk(start))
    owner = hop.candidates[0] if hop.candidates else member.me
    member.fill_finger(index, owner)
    return True
