"""The records of an arc on their way from one member to another, page by page."""

from __future__ import annotations

from chord.effects import Operation, call
from chord.errors import LookupFailed
from chord.member import Member
from chord.messages import Copy, FetchArc, Noted, Page, Pointer
from chord.pages import Place, next_place

PAGES_AT_MOST = 10_000


def send_arc(
    member: Member,
    target: Pointer,
    low: int,
    high: int,
    handover: bool,
    owned: bool = False,
    outlasting_s: float = 0.0,
) -> Operation[None]:
    """Copy every entry with a key in (low, high] to a member, page by page, that is kept here for longer than that."""
    after = ("", "")
    for _ in range(PAGES_AT_MOST):
        page = member.store.arc(low, high, after, member.kernel.now)
        entries = tuple(entry for entry in page.entries if entry.guard_s >= outlasting_s)
        if entries:
            yield from call(target, Copy(entries, handover, owned), Noted, attempts=2)
        if not page.more:
            return
        after = (page.entries[-1].name, page.entries[-1].entry)
    raise LookupFailed(f"arc ({low:016x}, {high:016x}] of {member.me} has more than {PAGES_AT_MOST} pages")


def fetch_arc(member: Member, source: Pointer, low: int, high: int) -> Operation[bool]:
    """Merge every entry with a key in (low, high] that another member holds; whether that one is seasoned."""
    after = "", ""
    for _ in range(PAGES_AT_MOST):
        following, seasoned = yield from fetch_page(member, source, FetchArc(low, high, after))
        if following is None:
            return seasoned
        after = following
    raise LookupFailed(f"arc ({low:016x}, {high:016x}] at {source} has more than {PAGES_AT_MOST} pages")


def fetch_page(member: Member, source: Pointer, request: FetchArc) -> Operation[tuple[Place | None, bool]]:
    """Merge one page of another member's entries.

    Returns where the next one begins, or None if it was the last, and whether that member is seasoned.
    """
    page = yield from call(source, request, Page, attempts=2)
    space = member.settings.space
    begin = (request.low + 1) % space.size
    following = next_place(page, request.after, str(source), lambda name: space.distance(begin, space.key(name)))
    for entry in page.entries:
        member.store.merge(entry, member.kernel.now)
    return following, page.seasoned
