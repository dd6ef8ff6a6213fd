"""What a member answers to whoever fetches an arc: a replica that compares, or a joiner that takes it over."""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace

from chord.effects import Operation
from chord.errors import Busy
from chord.member import Member
from chord.messages import FetchArc, Page, Pointer
from chord.repair import gather_arc


def install(member: Member) -> None:
    """Have the member answer for arcs."""
    member.handlers[FetchArc] = partial(_arc, member)


def _arc(member: Member, request: FetchArc) -> Page | Operation[Page]:
    if not request.takeover:
        return _page(member, request)
    joiner = _require_joiner(member, request.high)
    if unheard := member.reach.unheard_in(request.low, request.high):
        member.start_asking_around(request.low, joiner)
        raise Busy(f"{member.me} gave what is stored up to {unheard[0]} to that one, and asks if {joiner} knows of it")
    if not member.reach.covers((request.low + 1) % member.settings.space.size):
        return _arc_compared(member, request, joiner)
    return _handed_over(member, request, joiner)


def _page(member: Member, request: FetchArc) -> Page:
    page = member.store.arc(request.low, request.high, request.after, member.kernel.now)
    return replace(page, seasoned=True) if member.reach.seasoned(member.kernel.now) else page


def _require_joiner(member: Member, high: int) -> Pointer:
    """The predecessor. Raises Busy unless it is at `high` and lacks its records: nobody else takes over from here.

    For anybody else this member would ask around the ring, and answer for arcs that are not its own. Nor does it give
    anything before it has all of its records: what it has so far would pass for all there is.
    """
    if not member.reach.complete:
        raise Busy(f"{member.me} has not got all of its records yet")
    predecessor = member.state.predecessor
    if predecessor is None or predecessor.id != high or member.reach.predecessor_complete:
        raise Busy(
            f"{member.me} hands nothing over up to {high:016x}: only its predecessor takes over, which is "
            f"{predecessor}, and only until it has its records"
        )
    return predecessor


def _arc_compared(member: Member, request: FetchArc, joiner: Pointer) -> Operation[Page]:
    """An arc that reaches back beyond what is all here: whoever owned it is gone, and the replicas may know more."""
    moves = member.reach.moves
    yield from gather_arc(member, request.low, member.reach.low)
    if member.reach.moves != moves:
        raise Busy(f"{joiner} has been followed by another one before {member.me}")
    _require_joiner(member, request.high)
    member.reach.extend(request.low)
    return _handed_over(member, request, joiner)


def _handed_over(member: Member, request: FetchArc, joiner: Pointer) -> Page:
    page = _page(member, request)
    if not page.more:
        member.reach.taken(request.low, joiner)
    return page
