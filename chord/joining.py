"""Joining: Zave's Join, and how a member that has joined is made known, as operations."""

from __future__ import annotations

from contextlib import suppress

from chord import ring_state
from chord.effects import Operation, call, cast, sleep
from chord.errors import LocalProtocolError, LookupFailed, RingcastError
from chord.identifiers import between
from chord.lookup import Walk, find_predecessor
from chord.maintenance import ask_neighbours, stabilize
from chord.member import Member
from chord.messages import Neighbours, Noted, Notify, Nudge, Ping, Pointer, Pong

JOIN_WALK = 32
"""Members that a joiner looks at around the place that the lookup named."""


def join(member: Member, via: list[Pointer]) -> Operation[None]:
    """Zave's Join: find the member whose successor should be this one, and copy its list.

    Raises LookupFailed, Busy or PeerUnreachable, after which it may be tried again, or LocalProtocolError when another
    process holds this member's identifier.
    """
    walk = Walk(member.me.id)
    hop = yield from find_predecessor(member.kernel, member.settings.space, via, walk)
    pointer = hop.member
    for _ in range(JOIN_WALK):
        answer = yield from ask_neighbours(member, pointer)
        successor = answer.successors[0] if answer.successors else answer.member
        if successor.id == member.me.id:
            yield from _await_departure(member, successor)
        elif answer.member.id == member.me.id:
            raise _taken(member, answer.member)
        elif between(answer.member.id, member.me.id, successor.id):
            member.state = ring_state.joined(member.state, answer)
            member.active = True
            # What its predecessor lacks, that one will ask of this member: it lies between it and whoever has it.
            member.reach.join(answer.member.id if answer.lacks_after is None else answer.lacks_after)
            member.event("joined", str(answer.member))
            return
        else:
            pointer = _towards(member, answer, successor)
    raise LookupFailed(
        f"{member.me} found no place in the ring within {JOIN_WALK} members of {hop.member}; {answer.member} lists "
        f"{successor} after it"
    )


def _towards(member: Member, answer: Neighbours, successor: Pointer) -> Pointer:
    """Which way the member between whom and its successor this one lies is to be found."""
    predecessor = answer.predecessor
    if predecessor is not None and between(predecessor.id, member.me.id, answer.member.id):
        return predecessor
    return successor


def _await_departure(member: Member, holder: Pointer) -> Operation[None]:
    """The ring lists this identifier already: wait for it to go when it is this process's former self."""
    if holder.address != member.me.address:
        yield from call(holder, Ping(), Pong, attempts=2)
        raise _taken(member, holder)
    yield from sleep(member.settings.stabilize_s)


def _taken(member: Member, holder: Pointer) -> LocalProtocolError:
    return LocalProtocolError(f"identifier {member.me.id:016x} is in use by {holder}; choose another address")


def enter(member: Member) -> Operation[None]:
    """Make a joined member known: notify the successor, and nudge the predecessor to stabilize now."""
    yield from stabilize(member)
    predecessor = member.state.predecessor
    if member.state.successors:
        with suppress(RingcastError):  # every stabilization notifies it again
            yield from call(
                member.state.successor, Notify(member.me, member.reach.complete, member.attached), Noted, attempts=2
            )
    if predecessor is not None:
        yield from cast(predecessor, Nudge())
