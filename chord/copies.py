"""Records held by several processes: a change is acknowledged by its copies, and told to those registered."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from chord import ring_state
from chord.arcs import fetch_arc
from chord.effects import Operation, call, cast, gather, sleep
from chord.errors import Busy, CopiesMissing, RingcastError
from chord.member import Member
from chord.messages import Changed, Copy, Entry, Noted, Pointer, Stored

COPY_ROUNDS = 6
COPY_PAUSE_S = 0.2
CASTS_IN_A_ROW = 64
CASTS_PAUSE_S = 0.02
"""Casts to many are spread, so that they do not crowd out what the ring itself has to say."""


def replicated(member: Member, entry: Entry, changed: bool) -> Operation[Stored]:
    """Acknowledge once min(replicas, processes) distinct processes hold the entry. Raises CopiesMissing.

    One of them is a joiner that takes the arc over: it may have all but this by now.
    A replica that is busy leaving is no holder: in the next round whoever comes after it is asked in its place.
    """
    holders: set[str] = {member.me.address}
    refused: set[str] = set()
    wanted = 1
    version = entry.version
    for attempt in range(COPY_ROUNDS):
        if attempt:
            yield from sleep(COPY_PAUSE_S)
            # As it is now: its lease goes on, and a later put may have replaced it.
            entry = member.store.find(entry.name, entry.entry, member.kernel.now) or entry
        targets = _targets(member, entry, refused)
        missing = [pointer for pointer in targets if pointer.address not in holders]
        owner = _stood_in_for(member, entry)
        outcomes = yield from gather(
            [
                call(pointer, Copy((entry,), handover=pointer == owner, onward=pointer == owner), Noted)
                for pointer in missing
            ]
        )
        holders.update(
            pointer.address for pointer, outcome in zip(missing, outcomes, strict=True) if isinstance(outcome, Noted)
        )
        yield from _caught_up(member, entry, missing, outcomes)
        refused = {
            pointer.address for pointer, outcome in zip(missing, outcomes, strict=True) if isinstance(outcome, Busy)
        }
        wanted = min(member.settings.replicas, ring_state.processes(member.state))  # one may have come meanwhile
        if len(holders) >= wanted and not _joiner_lacks(member, entry, holders | refused):
            if changed:
                tell_registered(member, entry)
            return Stored(version, len(holders))
    raise CopiesMissing(
        f"entry {entry.entry!r} of {entry.name!r} is held by {len(holders)} of {wanted} processes; put it again"
    )


def _caught_up(
    member: Member, entry: Entry, asked: list[Pointer], outcomes: Sequence[Noted | RingcastError]
) -> Operation[None]:
    """Raises CopiesMissing when somebody holds something newer, which this member has got then if it could.

    Others have owned the key while this process stood still, or the ring was split. Unless it is a later put.
    """
    ahead = [
        pointer
        for pointer, outcome in zip(asked, outcomes, strict=True)
        if isinstance(outcome, Noted) and outcome.newer
    ]
    if not ahead or member.store.outdates(entry, member.kernel.now):
        return
    space = member.settings.space
    key = space.key(entry.name)
    yield from gather([fetch_arc(member, pointer, (key - 1) % space.size, key) for pointer in ahead])
    raise CopiesMissing(f"{ahead[0]} holds something newer of {entry.entry!r} of {entry.name!r}; put it again")


def _targets(member: Member, entry: Entry, without: Collection[str]) -> list[Pointer]:
    """Who else has to hold an entry: the replicas, and whom this member stands in for."""
    targets = ring_state.replicas(member.state, member.settings.replicas, without)
    owner = _stood_in_for(member, entry)
    if owner is None:
        return targets
    return [owner, *(pointer for pointer in targets if pointer.address != owner.address)]


def _joiner_lacks(member: Member, entry: Entry, holders: Collection[str]) -> bool:
    owner = _stood_in_for(member, entry)
    return owner is not None and owner.address not in holders and not member.reach.predecessor_complete


def _stood_in_for(member: Member, entry: Entry) -> Pointer | None:
    """The predecessor if the entry lies in its arc: it joins, or has not been heard of lately."""
    return None if member.owns(member.settings.space.key(entry.name)) else member.state.predecessor


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


def lapse(member: Member) -> None:
    """Drop what has expired; the owner, which may be a sibling, tells those registered."""
    for entry in member.store.expire(member.kernel.now):
        key = member.settings.space.key(entry.name)
        if any(sibling.owns(key) for sibling in member.siblings):
            tell_registered(member, entry)
